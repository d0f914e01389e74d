"""The host function that fixes the findings of a file, or of some nodes of a file."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any

from remora.code.edit.import_edits import ImportStyle
from remora.code.edit.text_lines import Text, decode, lines_of, split_lines
from remora.judges.lint.conversions import repetitions
from remora.judges.lint.left_alone import LeftAlone, is_generated, kept_findings
from remora.judges.lint.new_findings import new_findings
from remora.judges.lint.used_imports import UNUSED
from remora.operations.lint.added_imports import with_added_imports_moved
from remora.operations.lint.fix_trial import Proposal, Settled, apply_proposals
from remora.operations.lint.formatting import FileFormat
from remora.operations.lint.host_findings import describe_findings, findings_on_nodes
from remora.tools.host.ruff.config_files import is_configured
from remora.tools.host.ruff.finding import Finding, Place, edits_of, has_fix, place_of
from remora.tools.host.ruff.import_style import imports_one_per_line
from remora.tools.host.ruff.rule_choice import DEFAULT
from remora.tools.ruff_fixes import apply_fixes_together
from remora.tools.tree import ToolTree
from remora.workspaces.apply.line_diff import diff_hunks

_WORD = re.compile(rb"\w+")
_bare = partial(re.compile(r"`[\w.]*\.(?=\w)").sub, "`")  # without modules, which a fix may change
_UNUSED = ("F401", "F841")
_WITH_UNUSED = ("--extend-select", ",".join(_UNUSED))
_ALLOWED = "lint.pyflakes.allowed-unused-imports"
_MAX_PASSES = 20
_MAX_TRIALS = 4
_LONG_LINE, _REPEATED, _SPACE = "long line", "repetition", "space at the end"
_BEHIND = "a fix left it behind"
_BEGUN = "not all of its fixes in the file can be kept"
_OWN = (_LONG_LINE, _REPEATED, _SPACE)
"""Codes of findings that ruff does not report, and that no fix may add."""


def fix_findings(
    place: ToolTree, path: str, nodes: list[str], unsafe: bool = False
) -> dict[str, Any]:
    """Fix the findings of a file, or only the findings on the lines of `nodes`.

    The whole file is first fixed as `ruff check --fix` fixes it. For nodes, fixes may also change
    other lines of the file, for example to add an import. Unsafe fixes are applied only if `unsafe` is True. Fixes that would add findings are
    left out. A file that was formatted before is formatted again. Generated files stay as they are.

    Returns the counts of the fixed findings by code in `fixed`, the first and the last line of each
    changed place in `changed`, and the result of `file_findings` for the new content in `left`.
    """
    with place.ruff.one_process():
        fixer = _Fixer(place, path, nodes, unsafe=unsafe)
        content = fixer.content
        had = fixer.targets(content, fixer.before)
        fixed = content if fixer.is_generated else fixer.fixed()
        is_better = len(fixer.targets(fixed, fixer.check(fixed))) < len(had)
        fixed = fixer.with_tidy_imports(fixed) if is_better else content
        if fixed.endswith(b"\n\n") and not content.endswith(b"\n\n"):  # the last statement is gone
            fixed = fixed.rstrip(b"\n") + b"\n"
        left, kept = fixer.targets(fixed, fixer.check(fixed)), fixer.kept(fixed)
        behind, why = fixer.left_behind(fixed)
    if fixed != content:
        place.write(path, fixed)
    gone = Counter(finding["code"] for finding in had)
    gone.subtract(finding["code"] for finding in left)
    left, kept = left + behind, kept | dict.fromkeys(map(place_of, behind), _BEHIND) | why
    return {
        "fixed": {code: number for code, number in sorted(gone.items()) if number > 0},
        "changed": _changed_places(path, content, fixed),
        "left": describe_findings(decode(path, fixed).body, left, kept),
    }


def _changed_places(path: str, before: bytes, after: bytes) -> list[list[int]]:
    added, count, places = 0, len(split_lines(decode(path, after).body)), list[list[int]]()
    hunks = diff_hunks(before.splitlines(), after.splitlines()) if count else []
    for hunk in hunks:
        first = hunk.start + 1 + added
        added += len(hunk.lines) - (hunk.end - hunk.start)
        places.append([min(first, count), min(max(first, hunk.end + added), count)])
    return places


class _Fixer:
    """Fixes the findings of one file. `before` contains the findings of `content`."""

    def __init__(self, place: ToolTree, path: str, nodes: Sequence[str], *, unsafe: bool) -> None:
        self._place = place
        self._path = path
        self.content = content = place.read(path)
        self._nodes = nodes
        self._unsafe = unsafe
        self._format = FileFormat(place, path, decode(path, content))
        self._checked: dict[bytes, list[Finding]] = {}
        self._is_configured = place.once_beside(is_configured, path)
        self.before = self.check(content)
        self._left_alone = LeftAlone(place, path, self.before)
        self.is_generated = is_generated(decode(path, content).body)
        found = [finding for finding in self.before if finding["code"] not in _OWN]
        self._kept = {content: kept_findings(place, path, content, found)}

    def check(self, content: bytes) -> list[Finding]:
        """Return the findings of a version. Repeated assertions and conditions count, too.

        So do lines that are too long or end in white space if ruff is not configured. They are not
        fixed, but a fix that adds one is left out. `--select default` permits long lines.
        """
        if content in self._checked:
            return self._checked[content]
        found = self._place.ruff.check_text(self._path, content)
        body, width = decode(self._path, content).body, self._format.width
        found = [*found, *_own_findings(_REPEATED, repetitions(body))]
        if not self._is_configured:
            numbered = [*enumerate(split_lines(body), 1)]
            if DEFAULT not in self._place.ruff.selected:
                found += _own_findings(_LONG_LINE, [n for n, line in numbered if len(line) > width])
            found += _own_findings(_SPACE, [n for n, line in numbered if line != line.rstrip()])
        self._checked[content] = found
        return found

    def targets(self, content: bytes, findings: list[Finding]) -> list[Finding]:
        """Return the findings that are to be fixed in a version of the file."""
        found = [finding for finding in findings if finding["code"] not in _OWN]
        return findings_on_nodes(self._path, content, found, self._nodes)

    def fixed(self) -> bytes:
        """Return the fixed file.

        Rules that are only defaults are fixed everywhere in it or nowhere. Of 34 changed files of 20
        packages, one had `list(sorted(a))` fixed four times and left five times in a dictionary.
        """
        content = self.with_tried_fixes(self.with_ruff_fixes())
        begun = () if self._is_configured or self._place.ruff.selected else self._begun(content)
        if not begun:
            return content
        self._left_alone.rules |= dict.fromkeys(begun, _BEGUN)
        self._kept.clear()
        return self.fixed()

    def _begun(self, content: bytes) -> Collection[str]:
        """Return the rules of which a version has only some of the fixes."""
        present = self.targets(content, self.check(content))
        allowed = [finding for finding in present if self._allows(finding)]
        kept = self.kept(content) if allowed else {}
        left = Counter(finding["code"] for finding in allowed if place_of(finding) not in kept)
        had = Counter(finding["code"] for finding in self.targets(self.content, self.before))
        return [code for code in left if left[code] < had[code]]

    def with_tidy_imports(self, content: bytes) -> bytes:
        """Return a fixed version with added imports beside the others, if no finding is new.

        Imports that only the fixes made unused are removed, whatever is selected.
        """
        before, after = decode(self._path, self.content), decode(self._path, content)
        style = ImportStyle(self._format.width, one_per_line=self._place.once(imports_one_per_line))
        moved = after._replace(body=with_added_imports_moved(before.body, after.body, style))
        behind, why = self.left_behind(tidy := moved.bytes())
        wanted = [finding for finding in behind if place_of(finding) not in why]
        if wanted:
            removed = apply_fixes_together(moved, wanted, unsafe=False)
            tidy = self._format.formatted(decode(self._path, removed).body)
        return tidy if not new_findings(self.check(content), self.check(tidy)) else content

    def left_behind(self, content: bytes) -> tuple[list[Finding], dict[Place, str]]:
        """Return the names that only the fixes made unused, and the reasons why some stay.

        They are used less often than before. Rules that are only defaults find them anyway.
        """
        old, new = (Counter(_WORD.findall(version)) for version in (self.content, content))
        is_known = not (self._is_configured or self._place.ruff.selected)
        if is_known or not any(0 < new[word] < number for word, number in old.items()):
            return [], {}
        find = partial(self._place.ruff.check_text, self._path)
        after = [f["message"] for f in find(content, _WITH_UNUSED) if f["code"] in _UNUSED]
        known = {_bare(f["message"]) for f in find(self.content, _WITH_UNUSED)} if after else set()
        fresh = {text for text in after if _bare(text) not in known}
        # ruff removes all unused names of a statement
        others = f"{_ALLOWED}={json.dumps(UNUSED.findall(' '.join(sorted({*after} - fresh))))}"
        found = find(content, (*_WITH_UNUSED, "--config", others)) if fresh else []
        found = [finding for finding in found if finding["message"] in fresh]
        return found, self._left_alone.reasons(found, decode(self._path, content).body)

    def with_tried_fixes(self, content: bytes) -> bytes:
        """Try ruff's fixes together, and keep those that add no finding."""
        for _ in range(_MAX_TRIALS):
            present = self.check(content)
            text = decode(self._path, content)
            body, left_alone = text.body, self.kept(content)
            wanted = [
                finding
                for finding in self.targets(content, present)
                if place_of(finding) not in left_alone and self._allows(finding)
            ]
            lines = lines_of(body)
            proposals = [
                Proposal(finding, edits_of(body, finding["fix"], lines)) for finding in wanted
            ]

            def settle(body: str, present: list[Finding] = present) -> Settled:
                # its new findings that ruff fixes are fixed, too
                fixed, _ = self._mended(self._format.formatted(body), present)
                return fixed, self.check(fixed)

            def check(body: str, text: Text = text) -> list[Finding]:
                return self.check(text._replace(body=body).bytes())

            changed = apply_proposals(body, proposals, present, settle=settle, check=check)
            if changed is None:
                break
            content = changed
        return content

    def _mended(self, content: bytes, before: list[Finding]) -> tuple[bytes, list[Finding]]:
        """Fix the new findings of a version. Also return those that stay."""
        extra = new_findings(before, self.check(content))
        codes = sorted({finding["code"] for finding in extra if self._allows(finding)})
        if codes:
            content = self._fix_step_by_step(content, codes)
            extra = new_findings(before, self.check(content))
        return content, extra

    def kept(self, content: bytes) -> dict[Place, str]:
        """Return the findings of a version that stay, with the reasons."""
        if content not in self._kept:
            body = decode(self._path, content).body
            self._kept[content] = self._left_alone.reasons(self.check(content), body)
        return self._kept[content]

    def _allows(self, finding: Finding) -> bool:
        """Return True if ruff has a fix for the finding that may be applied."""
        return finding["code"] not in self._left_alone.rules and has_fix(
            finding, unsafe=self._unsafe
        )

    def with_ruff_fixes(self) -> bytes:
        """Fix the whole file, or the findings of the nodes, as ruff does.

        If a fix adds a finding, only rules are fixed whose fixes together add none. The other fixes
        are then tried as proposals.
        """
        allowed = [finding for finding in self.before if self._allows(finding)]
        if not allowed:
            return self.content
        fixed = self._fix_step_by_step(self.content)
        mended, lasting = self._mended(fixed, self.before)
        return self._fix_by_rule(allowed) if lasting else mended

    def _fix_by_rule(self, findings: Sequence[Finding]) -> bytes:
        """Fix the rules one after the other, without those whose fixes add a finding."""
        content = self.content
        for code in () if self._nodes else sorted({finding["code"] for finding in findings}):
            mended, lasting = self._mended(self._fix_step_by_step(content, [code]), self.before)
            content = content if lasting else mended
        return content

    def _fix_step_by_step(self, content: bytes, codes: Collection[str] = ()) -> bytes:
        """Apply fixes as ruff does, or only those of some rules.

        If nodes are given, only their findings are fixed, and those that these fixes add anywhere.
        """
        for _ in range(_MAX_PASSES):
            text, present = decode(self._path, content), self.check(content)
            left_alone = self.kept(content)
            own = present
            if codes:
                own = [finding for finding in present if finding["code"] in codes]
            elif self._nodes:
                own = [*self.targets(content, present), *new_findings(self.before, present)]
            places = set(map(place_of, own)) - left_alone.keys()
            wanted = [
                finding
                for finding in present
                if place_of(finding) in places and self._allows(finding)
            ]
            changed = apply_fixes_together(text, wanted, unsafe=self._unsafe)
            if changed == content:
                break
            content = changed
        return self._format.formatted(decode(self._path, content).body)


def _own_findings(code: str, lines: Iterable[int]) -> list[Finding]:
    place = {"path": "", "column": 1, "end_column": 1, "fix": None, "code": code, "message": ""}
    return [{**place, "line": line, "end_line": line} for line in lines]
