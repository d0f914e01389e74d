"""What a script is told of a file's tree: definitions, imports and branches as plain values."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from remora.code.syntax.definitions import DefinitionNode, ImportNode
from remora.code.syntax.fast_unparse import unparse_expression
from remora.code.syntax.signature import docstring_text, source_segment
from remora.code.syntax.source import Source, printable

Plain = dict[str, Any]
_KEYWORDS: dict[type[ast.AST], str] = {
    ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "async def",
    ast.ClassDef: "class",
}


def definition_facts(node: DefinitionNode, qualname: str, source: Source) -> Plain:
    """A definition in pieces, each expression as text; `header` is false where one cannot be
    written."""
    facts: Plain = {
        "qualname": qualname,
        "keyword": _KEYWORDS[node.__class__],
        "name": node.name,
        "decorators": [source_segment(found, source) for found in node.decorator_list],
        "docstring": _text(docstring_text(node.body)),
        "base_sources": [source_segment(base, source) for base in getattr(node, "bases", ())],
        "header": True,
    }
    try:
        return {**facts, **_header(node)}
    except (RecursionError, ValueError):
        # a default that nests too deeply, or an integer too long to be printed in decimal
        return {**facts, "header": False}


def module_facts(source: Source, qualname: str) -> Plain:
    """The module itself, which has a docstring only."""
    return {
        "qualname": qualname,
        "keyword": "module",
        "docstring": _text(docstring_text(source.tree.body)),
    }


def import_facts(statement: ImportNode) -> Plain:
    """`import a.b as c` or `from ..a import b`: names, and how many dots stand before."""
    names = [alias.name for alias in statement.names]
    if isinstance(statement, ast.Import):
        return {"module": None, "level": 0, "names": names}
    return {"module": statement.module or "", "level": statement.level, "names": names}


def branch_facts(node: DefinitionNode, qualname: str) -> Plain:
    """Where the code of a definition branches: of its own body, and of each function directly in
    it, for what nests in these is counted by itself."""
    own, functions = _branches(node)
    return {
        "qualname": qualname,
        "keyword": _KEYWORDS[node.__class__],
        "branches": own,
        "functions": [_branches(function)[0] for function in functions],
    }


def _header(node: DefinitionNode) -> Plain:
    type_params = [_unparsed(found) for found in getattr(node, "type_params", ())]
    if isinstance(node, ast.ClassDef):
        keywords = [[word.arg, _unparsed(word.value)] for word in node.keywords]
        return {
            "type_params": type_params,
            "bases": [_unparsed(base) for base in node.bases],
            "keywords": keywords,
        }
    return {
        "type_params": type_params,
        "parameters": list(_parameters(node.args)),
        "returns": None if node.returns is None else _unparsed(node.returns),
    }


def _parameters(args: ast.arguments) -> Iterator[Plain]:
    ordered = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(ordered) - len(args.defaults))
    defaults += args.defaults
    for place, (arg, default) in enumerate(zip(ordered, defaults, strict=True)):
        kind = "before /" if place < len(args.posonlyargs) else "plain"
        yield _parameter(kind, arg, default)
    if args.vararg is not None:
        yield _parameter("*", args.vararg, None)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter("by name", arg, default)
    if args.kwarg is not None:
        yield _parameter("**", args.kwarg, None)


def _parameter(kind: str, arg: ast.arg, default: ast.expr | None) -> Plain:
    return {
        "kind": kind,
        "name": arg.arg,
        "annotation": None if arg.annotation is None else _unparsed(arg.annotation),
        "default": None if default is None else _unparsed(default),
    }


def _unparsed(node: ast.AST) -> str:
    quick = unparse_expression(node) if isinstance(node, ast.expr) else None
    return printable(quick or ast.unparse(node))


def _text(text: str | None) -> str | None:
    """With lone surrogates as `\\udXXX`: the sandbox's strings are UTF-8."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def _branches(node: DefinitionNode) -> tuple[Plain, list[DefinitionNode]]:
    """Counts by kind of branch, and the functions met on the way, which are not entered."""
    counts: Counter[str] = Counter()
    functions: list[DefinitionNode] = []
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        found = waiting.pop()
        if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(found)
        elif not isinstance(found, ast.ClassDef):
            count = _COUNTS.get(found.__class__)
            if count is not None:
                count(found, counts)
            if found.__class__ is not ast.Assert:  # what it says is no branch of the code
                waiting.extend(ast.iter_child_nodes(found))
    return dict(counts), functions


def _add(**amounts: int) -> Callable[[Any, Counter[str]], None]:
    def count(_: Any, counts: Counter[str]) -> None:
        counts.update(amounts)

    return count


def _try(node: ast.Try, counts: Counter[str]) -> None:
    counts.update({"handler": len(node.handlers), "else": bool(node.orelse)})


def _loop(node: ast.For | ast.AsyncFor | ast.While, counts: Counter[str]) -> None:
    counts.update({"loop": 1, "else": bool(node.orelse)})


def _operators(node: ast.BoolOp, counts: Counter[str]) -> None:
    counts["operator"] += len(node.values) - 1


def _comprehension(node: ast.comprehension, counts: Counter[str]) -> None:
    counts.update({"comprehension": 1, "condition": len(node.ifs)})


def _match(node: ast.Match, counts: Counter[str]) -> None:
    counts["case"] += len(node.cases)
    counts["catch_all"] += _catches_all([case.pattern for case in node.cases])


def _catches_all(patterns: Sequence[ast.pattern]) -> bool:
    return any(isinstance(found, ast.MatchAs) and found.pattern is None for found in patterns)


_COUNTS: dict[type[ast.AST], Callable[[Any, Counter[str]], None]] = {
    ast.If: _add(condition=1),
    ast.IfExp: _add(condition=1),
    ast.Assert: _add(condition=1),
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _loop,
    ast.Try: _try,
    ast.BoolOp: _operators,
    ast.comprehension: _comprehension,
    ast.Match: _match,
}
