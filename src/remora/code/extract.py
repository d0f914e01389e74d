"""Source text of a Python file in, its nodes out."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.code.nodes import Module, Node
from remora.code.signature import (
    Definition,
    decorators,
    docstring,
    docstring_text,
    first_line,
    signature,
)
from remora.code.skip import Skips, find_skips
from remora.code.source import Source, Unreadable, read_source
from remora.ids import MODULE, NodeKey, node_key, spell_path

_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # in the order of the source


def parse_module(path: str, source: bytes) -> Module | Unreadable:
    """The nodes of one file; `path` is relative to the root, POSIX, raw. Never raises or warns."""
    read = read_source(path, source)
    return read if isinstance(read, Unreadable) else _Walk(path, read).module()


class _Scope(NamedTuple):
    """A node under construction, as seen from what is nested in it."""

    qualname: str
    key: NodeKey
    skip: bool
    seen: Counter[str]


class _Walk:
    """One pass over one file's definitions, without recursion: `elif` chains nest deeply."""

    def __init__(self, path: str, source: Source) -> None:
        self.path = path
        self.spelled = spell_path(path)
        self.source = source
        self.skips: Skips = find_skips(b"\n".join(source.utf8).decode())

    def module(self) -> Module:
        own = self._module_node()
        # a definition may be called __module__ too: the module's own key comes first
        root = _Scope("", own.key, own.skip, Counter({MODULE: 1}))
        return Module(
            path=self.path,
            key=own.key,
            nodes=(own, *self._definitions(root)),
            file_hash=hashlib.sha256(self.source.raw).hexdigest(),
            line_count=own.line_count,
            encoding=self.source.encoding,
        )

    def _definitions(self, root: _Scope) -> Iterator[Node]:
        waiting: list[tuple[ast.AST, _Scope]] = []
        _push(waiting, self.source.tree, root)
        while waiting:
            statement, scope = waiting.pop()
            inside = scope
            if isinstance(statement, Definition):
                node = self._node(statement, scope)
                yield node
                inside = _Scope(f"{node.qualname}.", node.key, node.skip, Counter())
            _push(waiting, statement, inside)

    def _node(self, found: Definition, scope: _Scope) -> Node:
        scope.seen[found.name] += 1
        repeat = scope.seen[found.name]
        qualname = f"{scope.qualname}{found.name}" + (f"#{repeat}" if repeat > 1 else "")
        start = first_line(found, self.source.utf8)
        end = found.end_lineno or found.lineno
        return Node(
            key=node_key(self.spelled, qualname),
            path=self.path,
            qualname=qualname,
            node_type="class" if isinstance(found, ast.ClassDef) else "function",
            signature=signature(found),
            docstring=docstring(found.body),
            decorators=decorators(found, self.source.utf8),
            line_start=start,
            line_end=end,
            line_count=end - start + 1,
            source_hash=self._hash_lines(start, end),
            body_hash=self._hash_body(found.body),
            parent=scope.key,
            skip=scope.skip or found.lineno in self.skips.statements,
        )

    def _module_node(self) -> Node:
        body = self.source.tree.body
        count = len(self.source.lines)
        code = body[1:] if docstring_text(body) is not None else body
        first_code = first_line(code[0], self.source.utf8) if code else count + 1
        return Node(
            key=node_key(self.spelled),
            path=self.path,
            qualname=MODULE,
            node_type="module",
            signature=None,
            docstring=docstring(body),
            decorators=(),
            line_start=1,
            line_end=count,
            line_count=count,
            source_hash=self._hash_lines(1, count),
            body_hash=self._hash_body(body),
            parent=None,
            skip=any(line < first_code for line in self.skips.alone),
        )

    def _hash_lines(self, start: int, end: int) -> str:
        """Of the raw bytes, line endings between the lines as they are in the file."""
        whole = b"".join(self.source.lines[start - 1 : end])
        return hashlib.sha256(_without_newline(whole)).hexdigest()

    def _hash_body(self, body: Sequence[ast.stmt]) -> str:
        code = body[1:] if docstring_text(body) is not None else body
        return hashlib.sha256(self._block(code) if code else b"").hexdigest()

    def _block(self, code: Sequence[ast.stmt]) -> bytes:
        start, last = first_line(code[0], self.source.utf8), code[-1]
        lines = list(self.source.utf8[start - 1 : last.end_lineno])
        column = code[0].col_offset
        margin = lines[0][:column]
        lines[-1] = lines[-1][: last.end_col_offset]
        lines[0] = lines[0][column:]
        return b"\n".join(line.removeprefix(margin) for line in lines)


def _push(waiting: list[tuple[ast.AST, _Scope]], statement: ast.AST, scope: _Scope) -> None:
    """The statements directly inside `statement`, so that they come off in source order."""
    blocks = [getattr(statement, block, ()) for block in _BLOCKS]
    waiting.extend((inner, scope) for block in reversed(blocks) for inner in reversed(block))


def _without_newline(lines: bytes) -> bytes:
    return lines.removesuffix(b"\n").removesuffix(b"\r")
