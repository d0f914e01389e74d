"""Host functions that list and fix the findings of a file, or of some nodes of a file."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, lines_of_nodes
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.operations.lint.formatting import formatter
from remora.operations.lint.recipes.apply import Proposal, apply_proposals, propose
from remora.operations.lint.recipes.base import (
    Conventions,
    PythonSource,
    RecipeFix,
    parse_source,
)
from remora.operations.lint.recipes.catalog import recipes_for
from remora.tools.host.ruff.config_files import oldest_minor
from remora.tools.host.ruff.fixes import apply_fixes_together
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.host.ruff.node_findings import describe_findings
from remora.tools.host.ruff.ruff_process import Finding, check_text, fix_text
from remora.tools.host.ruff.text_edits import edits_of
from remora.tools.host.style_config import width_of
from remora.tools.host.text_lines import decode
from remora.tools.tree import ToolTree

_MAX_PASSES = 20
_MAX_UNFIXABLE = 8
_MAX_RECIPE_PASSES = 4
_OLDEST = 10  # supported versions of Python


def file_findings(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return the findings on the lines of several nodes of a file.

    `nodes` contains qualnames. If it is empty, the findings of the whole file are returned. The
    result has the same keys as the result of `node_findings`.
    """
    content = place.read(path)
    found = _on_nodes(path, content, check_text(place, path, content), nodes)
    return describe_findings(decode(path, content).body, found)


def fix_findings(
    place: ToolTree, path: str, nodes: list[str], unsafe: bool = False
) -> dict[str, Any]:
    """Fix the findings of a file, or only the findings on the lines of `nodes`.

    The whole file is first fixed as `ruff check --fix` fixes it. For nodes, fixes may also change
    other lines of the file, for example to add an import. Recipes then fix findings that ruff has
    no fix for. Unsafe fixes are applied only if `unsafe` is True. Fixes that would add findings are
    left out. A file that was formatted before is formatted again.

    Returns the counts of the fixed findings by code in `fixed`, and the result of `file_findings`
    for the new content in `left`.
    """
    content = place.read(path)
    fixer = _Fixer(place, path, content, nodes, unsafe=unsafe)
    fixed = fixer.with_recipes(fixer.with_ruff_fixes())
    if fixed != content:
        place.write(path, fixed)
    left = fixer.targets(fixed, fixer.check(fixed))
    gone = Counter(finding["code"] for finding in fixer.targets(content, fixer.before))
    gone.subtract(finding["code"] for finding in left)
    return {
        "fixed": {code: number for code, number in sorted(gone.items()) if number > 0},
        "left": describe_findings(decode(path, fixed).body, left),
    }


class _Fixer:
    """Fixes the findings of one file. `before` contains the findings of `content`."""

    def __init__(
        self, place: ToolTree, path: str, content: bytes, nodes: Sequence[str], *, unsafe: bool
    ) -> None:
        self._place = place
        self._path = path
        self._content = content
        self._nodes = nodes
        self._unsafe = unsafe
        self._formatted = formatter(place, path, decode(path, content))
        self.before = self.check(content)

    def check(self, content: bytes) -> list[Finding]:
        return check_text(self._place, self._path, content)

    def targets(self, content: bytes, findings: list[Finding]) -> list[Finding]:
        """Return the findings that are to be fixed in a version of the file."""
        return _on_nodes(self._path, content, findings, self._nodes)

    def with_ruff_fixes(self) -> bytes:
        return self._fix_nodes() if self._nodes else self._fix_file()

    def with_recipes(self, content: bytes) -> bytes:
        """Fix findings that ruff does not fix, by recipes and by its fixes in preview mode."""
        recipes = recipes_for(unsafe=self._unsafe)
        conventions = Conventions(
            width=width_of(self._place, self._path), oldest=oldest_minor(self._place) or _OLDEST
        )
        for _ in range(_MAX_RECIPE_PASSES):
            text, present = decode(self._path, content), self.check(content)
            wanted = [each for each in self.targets(content, present) if not self._allows(each)]
            source = parse_source(self._path, text.body, conventions)
            proposals = [
                *propose(source, wanted, recipes),
                *self._preview_fixes(source, [e for e in wanted if e["code"] not in recipes]),
            ]
            changed = apply_proposals(
                source, proposals, lambda body: self.check(self._formatted(body)), present
            )
            if changed == text.body:
                break
            content = self._formatted(changed)
        return content

    def _allows(self, finding: Finding) -> bool:
        """Return True if ruff has a fix for the finding that may be applied."""
        allowed = ("safe", "unsafe") if self._unsafe else ("safe",)
        return finding["fix"] is not None and finding["fix"]["applicability"] in allowed

    def _preview_fixes(
        self, source: PythonSource, findings: Sequence[Finding]
    ) -> Iterator[Proposal]:
        """Yield the fixes that ruff has for findings only in preview mode."""
        rules = sorted({each["code"] for each in findings if each["code"].isalnum()})
        if not rules:
            return
        wanted = {(each["code"], each["line"], each["column"]) for each in findings}
        for each in check_text(self._place, self._path, source.body.encode(), rules):
            if self._allows(each) and (each["code"], each["line"], each["column"]) in wanted:
                edits = edits_of(source.body, each["fix"], source.lines)
                yield Proposal(each, RecipeFix(edits), _trust_ruff)

    def _fix_file(self) -> bytes:
        """Fix the whole file as ruff does. If fixes add findings, leave out their rules."""
        unfixable: list[str] = []
        while len(unfixable) <= _MAX_UNFIXABLE:
            fixed = self._fix_with_ruff(unfixable)
            after = self.check(fixed)
            if not new_findings(self.before, after):
                return fixed
            cause = self._cause_of_new_findings(after, unfixable)
            if cause is None:
                break
            unfixable.append(cause)
        return self._content

    def _fix_with_ruff(self, unfixable: Sequence[str]) -> bytes:
        fixed = fix_text(
            self._place, self._path, self._content, unsafe=self._unsafe, unfixable=unfixable
        )
        return self._formatted(decode(self._path, fixed).body)

    def _cause_of_new_findings(self, after: list[Finding], unfixable: Sequence[str]) -> str | None:
        """Return the rule without whose fixes the fewest findings are new, or None."""
        fixed = Counter(finding["code"] for finding in self.before)
        fixed.subtract(finding["code"] for finding in after)
        least, cause = len(new_findings(self.before, after)), None
        for code in sorted(code for code, number in fixed.items() if number > 0):
            tried = self._fix_with_ruff([*unfixable, code])
            extra = len(new_findings(self.before, self.check(tried)))
            if extra < least:
                least, cause = extra, code
        return cause

    def _fix_nodes(self) -> bytes:
        """Fix the findings of some nodes, and the findings that these fixes add anywhere."""
        fixed = self._content
        for _ in range(_MAX_PASSES):
            present = self.check(fixed)
            own = {id(each) for each in self.targets(fixed, present)}
            own |= {id(each) for each in new_findings(self.before, present)}
            wanted = [each for each in present if id(each) in own]
            changed = apply_fixes_together(decode(self._path, fixed), wanted, unsafe=self._unsafe)
            if changed == fixed:
                break
            fixed = changed
        return self._formatted(decode(self._path, fixed).body)


def _trust_ruff(_before: PythonSource, _after: PythonSource) -> bool:
    return True


def _on_nodes(
    path: str, content: bytes, findings: list[Finding], nodes: Sequence[str]
) -> list[Finding]:
    if not nodes:
        return findings
    module = parse_module(path, content)
    if not isinstance(module, Module):
        raise HostError(f"{path}: {module.detail}")
    own = lines_of_nodes(module, [node_key(escape_path(path), node) for node in nodes])
    return [finding for finding in findings if finding["line"] in own]
