"""Files and fixes that are left alone, because a person or another tool needs what is there."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import Any

from remora.code.edit.comments import is_for_tool
from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.pytest_file import TEST_FOLDERS
from remora.code.syntax.hidden_uses import marked_regions
from remora.code.syntax.source import parse_text
from remora.operations.lint.fixable_findings import Place, place_of
from remora.operations.lint.suppressions import kept_suppressions
from remora.operations.lint.used_imports import NeededImports
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.config_files import is_configured, supports_python_2
from remora.tools.host.ruff.finding import Finding
from remora.tools.host.ruff.rule_choice import SelectedRules
from remora.tools.tree import ToolTree

_HEAD = 2000  # characters
_GENERATED = re.compile(
    r"^.*(?:\bdo not (?:edit|modify)|@generated|\b(?:auto-?|automatically )generated\b|"
    r"\bgenerated (?:by|from|automatically|using)\b|\$ANTLR\b)",
    re.IGNORECASE | re.MULTILINE,
)
_UNUSED_IMPORT = "F401"
_REPEATED = "F811"
_WORDS = re.compile(r"#\s*\w+ \w+[^#]*")
"""A comment of two or more words."""
_UNSORTED_IMPORTS = "I001"
_NEEDED_ORDER = re.compile(
    r"#.*\b(?:order\b.*\b(?:important|matters|counts)|(?:important|specific|correct|this) order|"
    r"(?:must|has to|have to|needs? to|should)\b.*\b(?:first|last|before|after))\b",
    re.IGNORECASE,
)
_NO_EFFECT = "PIE790"
_REMOVED = {_NO_EFFECT, "PLR1711"}
_F_STRING = "UP032"
_PLACEHOLDER = re.compile(r"f([\"'])\{[^{}]*\}\1")
_PYTHON_3 = (
    "UP", "FURB", "PTH", "FLY", "FA", "TC", "ANN", "PYI", "B904", "B905", "RUF005", "RUF012", "RUF013",
    "SIM105", "PLW1514",
)  # fmt: skip
"""Beginnings of rules whose fixes need Python 3."""
_UNDERSCORES = {"B007", "RUF059"}
"""Rules whose fixes put an underscore before an unused name, which makes the code no better."""
_OF_TYPES = ("UP006", "UP007", "UP037", "UP040", "UP045", "UP046", "UP047", "FA", "TC")
"""Rules that rewrite types, some because of an import that is outside of a marked region."""
_IN_FALLBACK = {"UP023", "UP026", "UP029", "UP035", _UNUSED_IMPORT}
_FALLBACK = re.compile(
    r"^\s*except\b.*\b(?:ImportError|ModuleNotFoundError)\b|^\s*except:", re.MULTILINE
)
_CONVERSIONS = {
    "B006": "defaults", "FLY": "f-strings", "PTH": "paths", "UP006": "types", "UP007": "types",
    "UP030": "f-strings", "UP031": "f-strings", "UP032": "f-strings", "UP045": "types",
}  # fmt: skip
"""Beginnings of rules that convert one way of writing into another, in a whole function."""
_EXTENSIONS = "typing_extensions"
_DOCSTRING_TEXT = {"D205", "D400", "D401", "D403", "D404", "D415"}
_QUOTES = " \t\"'rRuU"
_TEST_DATA = frozenset(("testdata", "test_data", "test-data", "testcases"))
_DATA = frozenset(("data", "fixtures", "samples", "cases", "resources"))
"""Folders of files that tests read, anywhere and inside folders of tests."""
_CODE_OF_TESTS = re.compile(r"(?:^|/)(?:__init__|conftest|test[^/]*|[^/]*tests?)\.py$")
_LEAST_TEXT = 4
_MOST_FILES = 600


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

    def __init__(self, place: ToolTree, path: str, body: str, findings: Sequence[Finding]) -> None:
        self._selected = place.ruff.selected_rules()
        self.rules = _rules_to_skip(place, path, findings, self._selected)
        codes = {finding["code"] for finding in findings}
        tests = {} if codes.isdisjoint(_DOCSTRING_TEXT) else place.once(_docstring_tests)
        self._expected = "\n".join(text for test, text in tests.items() if test != path)
        self._lacks_extensions = not re.search(
            r"^\s*(?:from|import) typing_extensions\b", body, re.MULTILINE
        )
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
        return dict.fromkeys(map(place_of, together), "its import has needed names") | found

    def _reason(self, finding: Finding, body: str) -> str:
        """Return why a finding stays, or an empty string."""
        code = finding["code"]
        if code in self.rules:
            return self.rules[code]
        reasons = self._needs(finding, body)
        if not (self._is_configured or self._selected.are_asked_for(self._path, code)):
            reasons = chain(reasons, _no_gain(finding, body))
        return next((why for holds, why in reasons if holds), "")

    def _needs(self, finding: Finding, body: str) -> Iterator[tuple[bool, str]]:
        """Yield why something else needs what the fix of a finding would change."""
        code, line = finding["code"], finding["line"]
        if code in _DOCSTRING_TEXT:
            yield _is_expected(finding, body, self._expected), "a test expects this text"
        if self._lacks_extensions:
            adds = any(_EXTENSIONS in each["content"] for each in _edits(finding))
            yield adds, "typing_extensions may be absent"
        if code == _UNSORTED_IMPORTS:
            yield _needs_order(finding, _lines(body)), "a comment says that the order matters"
        if code.startswith(_OF_TYPES):
            in_region = any(line in region for region in marked_regions(body))
            yield in_region, "a build tool copies the marked region"
        if code == _UNUSED_IMPORT:
            yield from self._needed.reasons(finding, body)


def conversion_of(finding: Finding, body: str) -> tuple[str, int] | None:
    """Return the kind and the function of a conversion, or None for another fix."""
    kind = next(
        (kind for code, kind in _CONVERSIONS.items() if finding["code"].startswith(code)), ""
    )
    functions = [
        node.lineno
        for node in (_nodes(body) if kind else ())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= finding["line"] <= (node.end_lineno or 0)
    ]
    return (kind, max(functions)) if functions else None


def kept_findings(
    place: ToolTree, path: str, body: str, findings: Sequence[Finding]
) -> dict[Place, str]:
    """Return the findings of a file that the fixes leave alone, with the reasons."""
    if is_generated(body):
        return dict.fromkeys(map(place_of, findings), "the file is generated")
    return LeftAlone(place, path, body, findings).reasons(findings, body)


@lru_cache(maxsize=1)
def _lines(body: str) -> Sequence[str]:
    return split_lines(body)


def _no_gain(finding: Finding, body: str) -> Iterator[tuple[bool, str]]:
    """Yield why the fix of a rule that is not selected would be no gain."""
    code, line = finding["code"], finding["line"]
    if code in (_UNUSED_IMPORT, _REPEATED):
        comments = _WORDS.findall(_lines(body)[line - 1])
        yield not all(map(is_for_tool, comments)), "a comment explains the import"
    if code in _IN_FALLBACK:
        yield line in _fallback_lines(body), "the import is one of several to try"
    if code == _F_STRING:
        alone = any(_PLACEHOLDER.fullmatch(each["content"]) for each in _edits(finding))
        yield alone, "an f-string would be no shorter"
    if code in _REMOVED and line > 1:
        yield _lines(body)[line - 2].lstrip().startswith("#"), "a comment belongs to it"
    if code == _NO_EFFECT:  # many authors write a `pass` that has only a docstring beside it
        yield line in _second_of_two(body), "it marks an empty body"


def _edits(finding: Finding) -> Sequence[dict[str, Any]]:
    return finding["fix"]["edits"] if finding["fix"] else ()


def _needs_order(finding: Finding, lines: Sequence[str]) -> bool:
    """Return True if a comment in a block of imports, or above it, is about their order."""
    first = finding["line"] - 1
    above = takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[:first]))
    return any(map(_NEEDED_ORDER.search, [*above, *lines[first : finding["end_line"]]]))


@lru_cache(maxsize=1)
def _second_of_two(body: str) -> frozenset[int]:
    """Return the lines of the second statements of all bodies that have two."""
    bodies = (getattr(node, "body", None) for node in _nodes(body))
    return frozenset(
        block[1].lineno for block in bodies if isinstance(block, list) and len(block) == 2
    )


def _is_test_data(place: ToolTree, path: str) -> bool:
    """Return True for files such as `tests/data/cases.py`, which tests read.

    They are in a folder with such a name, or in a subfolder of tests without tests or a package.
    """
    *folders, _ = path.split("/")
    in_tests = any(each in TEST_FOLDERS for each in folders)
    if any(each in _TEST_DATA or (in_tests and each in _DATA) for each in folders):
        return True
    if not in_tests or folders[-1] in TEST_FOLDERS:
        return False
    beside = place.files.glob(f"{'/'.join(folders)}/*.py", look=place.left)
    return not any(map(_CODE_OF_TESTS.search, beside))


def _rules_to_skip(
    place: ToolTree, path: str, findings: Sequence[Finding], selected: SelectedRules
) -> dict[str, str]:
    """Return the rules whose findings stay, with the reasons.

    A project that supports Python 2 gets nothing that needs Python 3. Unless the project configures
    ruff, files that tests read as data stay as they are.
    """
    codes = {finding["code"] for finding in findings}
    if not is_configured(place, path) and _is_test_data(place, path):
        return dict.fromkeys(codes, "tests read the file as data")
    skipped = dict.fromkeys(codes & _UNDERSCORES, "an underscore makes the code no better")
    newer = [code for code in codes if code.startswith(_PYTHON_3)]
    if newer and supports_python_2(place):
        skipped |= dict.fromkeys(newer, "the project supports Python 2")
    return skipped | kept_suppressions(place, path, findings, selected)


@lru_cache(maxsize=1)
def _fallback_lines(body: str) -> frozenset[int]:
    return frozenset(
        line
        for node in _nodes(body)
        if isinstance(node, ast.Try)
        and any(_FALLBACK.match(_lines(body)[each.lineno - 1]) for each in node.handlers)
        for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)
    )


@lru_cache(maxsize=1)  # for all findings of a version of a file
def _nodes(body: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's tree, or an empty tuple if it does not parse."""
    tree = parse_text(body)
    return () if isinstance(tree, str) else tuple(ast.walk(tree))


def _docstring_tests(place: FileTree) -> dict[str, str]:
    """Return the texts of the project's tests that read `__doc__`, by path.

    They probably contain the docstrings that they expect.
    """
    tests = islice(place.contents("**/test*.py", "**/*_test.py"), _MOST_FILES)
    return {
        path: content.decode("utf-8", "replace") for path, content in tests if b"__doc__" in content
    }


def _is_expected(finding: Finding, body: str, expected: str) -> bool:
    """Return True if a finding is in a docstring whose first line a test probably expects."""
    lines = _lines(body)[finding["line"] - 1 : finding["line"] + 1]
    text = next(filter(None, (line.strip(_QUOTES).rstrip(".") for line in lines)), "")
    if len(text) < _LEAST_TEXT:
        return False
    alone = rf"(?<![\"'])[\"']{re.escape(text)}[\"'](?![\"'])"
    if " " in text and text in expected:
        return True
    texts = [expected, *([body] if "__doc__" in body else [])]
    return any(re.search(alone, each) is not None for each in texts)
