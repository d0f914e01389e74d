"""The text of an annotated file in the project's format: wrapped, and without new findings of ruff."""

import ast
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from remora.code.edit.edits import Edit, apply_edits, overlap
from remora.code.syntax.definitions import FunctionNode
from remora.errors import HostError
from remora.judges.lint.new_findings import likely_new_findings, new_findings
from remora.judges.types.accepted_annotations import Terms
from remora.judges.types.slots import Slot, SourceText, written_annotations
from remora.tools.host.ruff.finding import Finding, edits_of
from remora.tools.host.style_config import wrapping_width
from remora.tools.tree import ToolTree
from remora.workspaces.apply.line_diff import new_lines

_TRIES = 4
_FIXED = frozenset(
    ("F401", "PIE790", "TC001", "TC002", "TC003", "UP006", "UP007", "UP037", "UP045")
)
"""Rules about the notation of types and their imports, and about `pass` beside these."""
_NOTATION = frozenset(("UP006", "UP007", "UP037", "UP045"))
_WORD = re.compile(r"\w+")


def without_findings(
    place: ToolTree, path: str, before: str, write: Callable[[Terms], str], chosen: Terms
) -> tuple[str, list[Finding]]:
    """Return the file with those annotations of `chosen` that add no finding of ruff.

    The findings are those because of which others are left out. `write` returns the text of the
    file with annotations. If ruff fails, all are written.
    """
    file = _File(place, path, before)
    kept, refused = dict(chosen), list[Finding]()
    for _ in range(_TRIES):
        if not kept:
            break
        after = write(kept)
        if file.known is None:
            return file.formatted(after), []
        after = file.formatted(file.fixed(after, kept))
        added = file.added(after)
        if any(finding["code"] == "I001" for finding in added):
            after = place.ruff.with_sorted_imports(path, after.encode()).decode()
            added = file.added(after)
        if not added:
            return after, refused
        refused += added
        causes = set(_causes(SourceText(after), kept, added))
        kept = {key: term for key, term in kept.items() if key not in causes} if causes else {}
    return before, refused


class _File:
    """A file, its text without new annotations, and the findings `known` there if ruff works."""

    def __init__(self, place: ToolTree, path: str, before: str) -> None:
        self._place, self._path, self._before = place, path, before
        self.known: list[Finding] | None = None
        with suppress(HostError):
            self.known = place.ruff.check_text(path, before.encode())

    def added(self, after: str) -> list[Finding]:
        """Return the findings that another text adds."""
        found = self._place.ruff.check_text(self._path, after.encode())
        extra = new_findings(self.known or [], found)
        return likely_new_findings(self._before, after, extra, found)

    def fixed(self, after: str, kept: Terms) -> str:
        """Return the new text with fixes, and with those of findings that the fixes add."""
        for _ in range(_TRIES):
            fixed = self._once_fixed(after, kept)
            if fixed == after:
                break
            after = fixed
        return after

    def _once_fixed(self, after: str, kept: Terms) -> str:
        """Return the new text with fixes of findings about how types are written and imported.

        What was there before stays: only new annotations are rewritten, and only imports on new
        lines, unless the old text has no such finding.
        """
        wanted = [
            finding for finding in self.added(after) if finding["code"] in _FIXED and finding["fix"]
        ]
        about_imports = {finding["code"] for finding in wanted} - _NOTATION
        fresh = sorted(about_imports - {finding["code"] for finding in self.known or ()})
        if fresh:
            fixed = self._place.ruff.fix_text(self._path, after.encode(), fresh, unsafe=True)
            return fixed.decode()
        new = new_lines(self._before.encode(), after.encode())
        own = _own_annotations(SourceText(after), kept)
        edits: list[Edit] = []
        for finding in wanted:
            found = edits_of(after, finding["fix"])
            start = found[0].start if found else -1
            is_own = any(first <= start < last for first, last in own)
            is_import = finding["code"] in about_imports and finding["line"] in new
            if (is_own or is_import) and not overlap(found, edits):
                edits += found
        return apply_edits(after, edits)

    def formatted(self, after: str) -> str:
        """Format the new text if the old one was formatted, or else wrap long signatures."""
        content, ruff = self._before.encode(), self._place.ruff
        with suppress(HostError):
            if ruff.format_text(self._path, content) == content:
                return ruff.format_text(self._path, after.encode()).decode()
        width = wrapping_width(self._place, self._path, self._before)
        return wrap_signatures(self._before, after, width)


def _own_annotations(source: SourceText, kept: Terms) -> list[tuple[int, int]]:
    """Return the start and the end of each annotation that was added."""
    wanted = {(slot.number, slot.name) for _, slot in kept}
    written = written_annotations(source).items()
    return [
        (source.start(annotation), source.end(annotation))
        for key, annotation in written
        if key in wanted
    ]


def _causes(
    source: SourceText, kept: Terms, added: Iterable[Finding]
) -> Iterator[tuple[str, Slot]]:
    """Yield the annotations on the lines of findings, and those with a name that they import."""
    written = written_annotations(source)
    words = {
        key: {*_WORD.findall(ast.unparse(each))}
        for key in kept
        if (each := written.get((key[1].number, key[1].name))) is not None
    }
    for finding in added:
        line = source.lines[min(finding["line"], len(source.lines)) - 1]
        is_import = (
            line.lstrip().startswith(("from ", "import ")) or line.strip(" ,\r\n").isidentifier()
        )
        imported = set(_WORD.findall(line)) if is_import else set()
        for key in kept:
            _, node, _ = source.functions[key[1].number]
            header = range(node.lineno, node.body[0].lineno + 1)
            if finding["line"] in header or imported & words.get(key, set()):
                yield key


_INDENT = 4


def wrap_signatures(before: str, after: str, width: int) -> str:
    """Return the text with one parameter per line in signatures that have become too long.

    `before` is the text without the annotations. Signatures with comments or lambdas, and those that
    were too long before, are unchanged.
    """
    old, new = SourceText(before), SourceText(after)
    edits: list[Edit] = []
    for (_, was, _), (_, node, _) in zip(old.functions, new.functions, strict=True):
        if _longest(new, node) > width >= _longest(old, was):
            edits += _wrapped(new, node)
    return apply_edits(after, edits)


def _longest(source: SourceText, node: FunctionNode) -> int:
    """Return the length of the longest line of a signature."""
    last = max(source.position(_end(source, node))[0], node.lineno)
    return max(len(line.rstrip()) for line in source.lines[node.lineno - 1 : last])


def _end(source: SourceText, node: FunctionNode) -> int:
    return source.ends_of_parameters.get(node.lineno, source.offset(node.lineno, 0))


def _wrapped(source: SourceText, node: FunctionNode) -> Iterator[Edit]:
    end = source.ends_of_parameters.get(node.lineno)
    if end is None:
        return
    start = source.start(node)
    tokens = [token for token in source.tokens if start <= source.at(token.start) < end]
    if any(token.type == tokenize.COMMENT or token.string == "lambda" for token in tokens):
        return
    first = next(index for index, token in enumerate(tokens) if token.string == "(")
    opening = source.at(tokens[first].end)
    parts = [part.strip() for part in _parts(source, tokens[first + 1 :], opening, end - 1)]
    parts = [part for part in parts if part]
    if not parts or any("\n" in part for part in parts):
        return
    margin = source.lines[node.lineno - 1][: node.col_offset]
    newline = "\r\n" if source.lines[node.lineno - 1].endswith("\r\n") else "\n"
    indent = margin + ("\t" if "\t" in margin else " " * _INDENT)
    lines = "".join(f"{indent}{part},{newline}" for part in parts)
    yield Edit(opening, end - 1, f"{newline}{lines}{margin}")


def _parts(
    source: SourceText, tokens: list[tokenize.TokenInfo], start: int, end: int
) -> Iterator[str]:
    """Yield the text between the commas that separate parameters."""
    depth = 0
    for token in tokens:
        if token.type != tokenize.OP:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if token.string == "," and depth == 0:
            yield source.text[start : source.at(token.start)]
            start = source.at(token.end)
    yield source.text[start:end]
