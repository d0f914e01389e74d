"""Files and fixes that are left alone, because a person or another tool needs what is there."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from remora.code.edit.comments import is_for_tool
from remora.code.folders import BESIDE, is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.judges.lint.conversions import (
    IDIOMS,
    nodes_of,
    of_other_style,
    usual_idioms,
)
from remora.judges.lint.fixable_findings import FixableFindings, Place, place_of
from remora.judges.lint.used_imports import NeededImports
from remora.tools.host.ruff.config_files import is_configured, oldest_minor, supports_python_2
from remora.tools.host.ruff.finding import Finding
from remora.tools.host.ruff.ruff_versions import ruff_use, version_of
from remora.tools.host.ruff.rule_choice import uses_flake8
from remora.tools.tree import ToolTree

_HEAD = 2000  # characters
_GENERATED = re.compile(
    r"^.*(?:\bdo not (?:edit|modify)|@generated|\b(?:auto-?|automatically )generated\b|\$ANTLR\b)|"
    r"^(?:\s*#.*\b|\W*(?:this file (?:is|was) )?)generated (?:by|from|automatically|using)\b",
    re.IGNORECASE | re.MULTILINE,
)
_UNUSED_IMPORT = "F401"
_UNUSED = (_UNUSED_IMPORT, "F841", "PIE790")
"""Rules about what has no effect."""
_NO_QA = "RUF100"
_OF_VERSION = ("RUF10", "I001")
_VERSION = re.compile(r"^\s*__version__\s*=", re.MULTILINE)
_NO_EFFECT = "PIE790"
_PYTHON_3 = (
    "UP", "FURB", "PTH", "FLY", "FA", "TC", "ANN", "PYI", "B904", "B905", "RUF005", "RUF012", "RUF013",
    "SIM105", "PLW1514",
)  # fmt: skip
"""Beginnings of rules whose fixes need Python 3."""
_F_STRINGS, _WITH_F_STRINGS = {"UP032", "FLY002"}, 6
"""Rules whose fixes need f-strings, and the first minor version that has them."""
_CHOSEN = (_UNUSED_IMPORT, "UP035", "UP026")
"""Rules about imports that are unused or have moved."""
_MAYBE_ANOTHER = {"F504", "F522", "F523", "RUF068"}
"""Rules about what is given for nothing or twice, maybe by mistake for something else."""
_BY_NAME = {"B009", "B010"}
"""Rules about `getattr` and `setattr` with a constant name."""
_UNDERSCORES = {"B007", "RUF059"}
"""Rules whose fixes put an underscore before an unused name, which makes the code no better."""


def is_generated(body: str) -> bool:
    """Return True if the comments or the docstring at the start of a file say it is generated."""
    head = body[:_HEAD]
    if not _GENERATED.search(head):
        return False
    opening = re.match(
        r"(?:\s*(?:#[^\n]*(?:\n|$)|[rR]?\"\"\".*?(?:\"\"\"|\Z)|[rR]?'''.*?(?:'''|\Z)))*",
        head,
        re.DOTALL,
    )
    return opening is not None and _GENERATED.search(opening[0]) is not None


class LeftAlone:
    """The findings of a file that stay, because their fixes would remove something that is needed.

    `rules` contains the rules of which all findings stay, with the reasons.
    """

    def __init__(
        self,
        place: ToolTree,
        path: str,
        findings: Sequence[Finding],
        fixes: FixableFindings,
    ) -> None:
        self._fixes = fixes
        self._selected = place.ruff.selected_rules()
        meant = partial(self._selected.are_meant, path)
        is_asked = any(finding["code"] in IDIOMS for finding in findings)
        # the whole project is read for them
        idioms = place.once(usual_idioms).items() if is_asked else ()
        self.rules = {code: why for code, why in idioms if not meant(code)}
        self.rules |= _rules_to_skip(place, path, findings)
        self._path = path
        self._is_configured = is_configured(place, path)
        self._needed = NeededImports(place, path)

    def reasons(self, findings: Sequence[Finding], body: str) -> dict[Place, str]:
        """Return the findings of a version of the file that stay, with the reasons.

        Ruff's fix of an unused import removes all unused names of the statement, so if one of them
        is needed, all stay.
        """
        found = {place_of(each): why for each in findings if (why := self._reason(each, body))}
        fixes = [
            each["fix"]
            for each in findings
            if each["code"] == _UNUSED_IMPORT and each["fix"] and place_of(each) in found
        ]
        together = [each for each in findings if each["fix"] in fixes]
        found = dict.fromkeys(map(place_of, together), "its import has needed names") | found
        meant = partial(self._selected.are_meant, self._path)
        free = [finding for finding in findings if not meant(finding["code"])]
        return of_other_style(free, body) | found

    def _reason(self, finding: Finding, body: str) -> str:
        """Return why a finding stays, or an empty string."""
        code = finding["code"]
        if code in self.rules:
            return self.rules[code]
        return next((why for holds, why in self._needs(finding, body) if holds), "")

    def _needs(self, finding: Finding, body: str) -> Iterator[tuple[bool, str]]:
        """Yield why something else needs what the fix of a finding would change."""
        code, line = finding["code"], finding["line"]
        yield _removes_comment(finding, body), "the fix removes a comment"
        if code == _NO_EFFECT and not (
            self._is_configured or self._selected.are_meant(self._path, code)
        ):  # many authors write a `pass` that has only a docstring beside it
            yield line in _second_of_two(body), "it marks an empty body"
        added = " ".join(edit["content"] for edit in _edits(finding))
        yield "import builtins" in added and "import builtins" not in body, "it hides a builtin"
        if code in _CHOSEN:
            is_choice = any(line in lines for lines in _import_choices(body))
            yield is_choice, "what can be imported decides"
        if code in _UNUSED:
            *folders, name = self._path.split("/")
            yield name != "conf.py" and not BESIDE.isdisjoint(folders), "an example shows it"
        if code == _UNUSED_IMPORT:
            yield from self._needed.reasons(finding, body)


def kept_findings(
    place: ToolTree, path: str, body: str, findings: Sequence[Finding], fixes: FixableFindings
) -> dict[Place, str]:
    """Return the findings of a file that the fixes leave alone, with the reasons."""
    if is_generated(body):
        return dict.fromkeys(map(place_of, findings), "the file is generated")
    return LeftAlone(place, path, findings, fixes).reasons(findings, body)


def _edits(finding: Finding) -> Sequence[dict[str, Any]]:
    return finding["fix"]["edits"] if finding["fix"] else ()


def _removes_comment(finding: Finding, body: str) -> bool:
    """Return True if a fix removes a comment that the finding is not in.

    A comment for a tool, such as `# pragma: no cover`, goes with a statement, but not with an `else:`.
    """
    kept = "".join(edit["content"] for edit in _edits(finding))
    return any(
        (edit["line"], edit["column"]) <= (line, column) < (edit["end_line"], edit["end_column"])
        and not (line == finding["line"] and column <= finding["column"])
        and (header or text) not in kept
        and (kept.strip() or header or not is_for_tool(text))
        for edit in _edits(finding)
        for line, column, text, header in _comments(body)
    )


@lru_cache(maxsize=1)
def _comments(body: str) -> list[tuple[int, int, str, str]]:
    """Return the comments, and the line of a block that one for a tool belongs to, or nothing."""
    lines, found = io.StringIO(body), list[tuple[int, int, str, str]]()
    with suppress(tokenize.TokenError, SyntaxError):
        for kind, text, (line, column), _, code in tokenize.generate_tokens(lines.readline):
            if kind == tokenize.COMMENT:
                is_for_block = code[:column].rstrip().endswith(":") and is_for_tool(text)
                found.append((line, column + 1, text, code.strip() if is_for_block else ""))
    return found


@lru_cache(maxsize=1)
def _import_choices(body: str) -> list[range]:
    """Return the lines of statements that import what the version or the environment has."""
    return [
        range(node.lineno, (node.end_lineno or 0) + 1)
        for node in nodes_of(body)
        if (isinstance(node, ast.If) and node.orelse and "version_info" in ast.dump(node.test))
        or (isinstance(node, ast.Try) and _expects_absence(node))
    ]


def _expects_absence(tried: ast.Try) -> bool:
    """Return True if a handler is for a failed import. One for all exceptions may be for others."""
    types = (handler.type for handler in tried.handlers)
    expected = " ".join("Exception" if type_ is None else ast.unparse(type_) for type_ in types)
    imports = (ast.Import, ast.ImportFrom)
    pattern = r"\b(?:ImportError|ModuleNotFoundError)\b"
    if all(isinstance(statement, imports) for statement in tried.body):
        pattern += r"|\b(?:Base)?Exception\b"
    return re.search(pattern, expected) is not None


@lru_cache(maxsize=1)
def _second_of_two(body: str) -> frozenset[int]:
    """Return the lines of the second statements of all bodies that have two."""
    bodies = (getattr(node, "body", None) for node in nodes_of(body))
    return frozenset(
        block[1].lineno for block in bodies if isinstance(block, list) and len(block) == 2
    )


def _has_own_version(place: ToolTree, path: str) -> bool:
    """Return True if a package inside another one, such as `strictyaml.ruamel`, has a version."""
    *folders, _ = path.split("/")
    packages = ["/".join([*folders[:end], "__init__.py"]) for end in range(1, len(folders) + 1)]
    inner = (own for outer, own in pairwise(packages) if place.files.exists(outer))
    return any(_VERSION.search(place.text_or_empty(package)) for package in inner)


def _rules_to_skip(place: ToolTree, path: str, findings: Sequence[Finding]) -> dict[str, str]:
    """Return the rules whose findings stay, with the reasons.

    A project that supports Python 2 gets nothing that needs Python 3.
    """
    codes = {finding["code"] for finding in findings}
    if is_vendored(path) or _has_own_version(place, path):
        return dict.fromkeys(codes, "the file is a copy from another project")
    skipped = dict.fromkeys(codes & _UNDERSCORES, "an underscore makes the code no better")
    skipped |= dict.fromkeys(codes & _MAYBE_ANOTHER, "another value may be meant")
    if is_of_tests(path):
        skipped |= dict.fromkeys(codes & _BY_NAME, "a test may need the call")
    newer = [code for code in codes if code.startswith(_PYTHON_3)]
    minor = place.once(oldest_minor) if codes & _F_STRINGS else None
    if minor is not None and minor < _WITH_F_STRINGS:  # ruff knows no Python before 3.7
        skipped |= dict.fromkeys(codes & _F_STRINGS, f"the project supports Python 3.{minor}")
    if newer and bool(place.once(supports_python_2)):
        skipped |= dict.fromkeys(newer, "the project supports Python 2")
    return skipped | _kept_suppressions(place, findings)


def _kept_suppressions(place: ToolTree, findings: Sequence[Finding]) -> dict[str, str]:
    """Return the rules about comments that suppress findings, if these stay, with the reasons.

    A project that pins another version of ruff may need them for it, and sorts imports as that
    does. A `noqa` comment may be for flake8, if the project uses it, or for a tool that knows a rule
    that ruff does not know.
    """
    codes = {finding["code"] for finding in findings}
    found = {code for code in codes if code.startswith(_OF_VERSION)} - {*place.ruff.selected}
    if not found:
        return {}
    use = place.once(ruff_use)
    if use.version is not None and use.version.number[:2] != version_of(version("ruff"))[:2]:
        return dict.fromkeys(found, "the project pins another version of ruff")
    texts = [finding["message"] for finding in findings if finding["code"] == _NO_QA]
    is_for_another = uses_flake8(place) or any("unknown:" in text for text in texts)
    return {_NO_QA: "another linter may need the comment"} if is_for_another else {}
