"""Files and fixes that are left alone, because a person or another tool needs what is there."""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import takewhile

from remora.code.edit.comments import is_for_tool
from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.pytest_file import TEST_FOLDERS, is_of_tests
from remora.code.syntax.hidden_uses import marked_regions
from remora.code.syntax.source import parse_text
from remora.errors import HostError
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
_UPGRADES = "UP"
_UNDERSCORES = {"B007", "RUF059"}
"""Rules whose fixes put an underscore before an unused name, which makes the code no better."""
_OF_TYPES = ("UP006", "UP007", "UP037", "UP040", "UP045", "UP046", "UP047", "FA", "TC")
"""Rules that rewrite types, some because of an import that is outside of a marked region."""
_IN_FALLBACK = {"UP023", "UP026", "UP029", "UP035", _UNUSED_IMPORT}
_FALLBACK = re.compile(
    r"^\s*except\b.*\b(?:ImportError|ModuleNotFoundError)\b|^\s*except:", re.MULTILINE
)
_PYTHON_2_CODE = re.compile(
    r"\bPY2\b|\bsys\.version_info(?:\[0\]|\.major)?\s*(?:==|<=?)\s*\(?[23]\b|"
    r"^\s+(?:xrange|unicode|basestring|raw_input|unichr)\s*=|"
    r"=\s*(?:xrange|unicode|basestring|raw_input|unichr)\s*$",
    re.MULTILINE,
)
_PYTHON_3_SYNTAX = (ast.JoinedStr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Nonlocal)
_EXTENSIONS = "typing_extensions"
_OWN_LINES = re.compile(
    r"\b(?:tb_lineno|f_lineno|co_firstlineno|walk_tb|extract_tb|extract_stack|currentframe|"
    r"getframeinfo|getsourcelines)\b"
)
"""Names by which a test may read the numbers of its own lines."""
_DOCSTRING_TEXT = {"D205", "D400", "D401", "D403", "D404", "D415"}
_QUOTES = " \t\"'rRuU"
_TEST_DATA = frozenset(("testdata", "test_data", "test-data", "testcases"))
_DATA = frozenset(("data", "fixtures", "samples", "cases", "resources"))
"""Folders of files that tests read, anywhere and inside folders of tests."""
_CODE_OF_TESTS = re.compile(r"(?:^|/)(?:__init__|conftest|test[^/]*|[^/]*tests?)\.py$")
_LEAST_TEXT = 4
_MOST_FILES = 300


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
        self.rules = _rules_to_skip(place, path, body, findings, self._selected)
        codes = {finding["code"] for finding in findings}
        tests = {} if codes.isdisjoint(_DOCSTRING_TEXT) else place.once(_docstring_tests)
        self._expected = "\n".join(text for test, text in tests.items() if test != path)
        self._lacks_extensions = not re.search(
            r"^\s*(?:from|import) typing_extensions\b", body, re.MULTILINE
        )
        self._path = path
        self._is_configured = is_configured(place, path)
        self._needed = NeededImports(place, path)
        self._knows_its_lines = is_of_tests(path) and _OWN_LINES.search(body) is not None

    def reasons(self, findings: Sequence[Finding], body: str) -> dict[Place, str]:
        """Return the findings of a version of the file that stay, with the reasons.

        Ruff's fix of an unused import removes all unused names of the statement, so if one of them
        is needed, all stay.
        """
        found = {place_of(each): why for each in findings if (why := self._reason(each, body))}
        for each in _placeholders_beside_others(findings, found, body):
            found.pop(each, None)
        fixes = [
            each["fix"]
            for each in findings
            if each["code"] == _UNUSED_IMPORT and each["fix"] and place_of(each) in found
        ]
        together = [each for each in findings if each["fix"] in fixes]
        return dict.fromkeys(map(place_of, together), "its import has needed names") | found

    def _reason(self, finding: Finding, body: str) -> str:
        """Return why a finding stays, or an empty string."""
        if finding["code"] in self.rules:
            return self.rules[finding["code"]]
        reasons = (
            (_is_expected(finding, body, self._expected), "a test expects this text"),
            (
                self._lacks_extensions and _needs_extensions(finding),
                "typing_extensions may be absent",
            ),
            (_needs_order(finding, body), "a comment says that the order matters"),
            (
                finding["code"].startswith(_OF_TYPES) and _is_in_region(finding, body),
                "a build tool copies the marked region",
            ),
            (
                self._knows_its_lines and _moves_lines(finding),
                "the test reads its own line numbers",
            ),
        )
        return (
            next((reason for holds, reason in reasons if holds), "")
            or (self._needed.reason(finding, body) if finding["code"] == _UNUSED_IMPORT else "")
            or ("" if self._is_asked_for(finding) else _no_gain(finding, body))
        )

    def _is_asked_for(self, finding: Finding) -> bool:
        return self._is_configured or self._selected.are_asked_for(self._path, finding["code"])


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


def _no_gain(finding: Finding, body: str) -> str:
    """Return why the fix of a rule that is not selected would be no gain, or an empty string."""
    reasons = (
        (_is_explained(finding, body), "a comment explains the import"),
        (_is_in_fallback(finding, body), "the import is one of several to try"),
        (_is_only_a_placeholder(finding), "an f-string would be no shorter"),
        (_has_comment_above(finding, body), "a comment belongs to it"),
        (_is_only_statement(finding, body), "it marks an empty body"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _is_in_region(finding: Finding, body: str) -> bool:
    return any(finding["line"] in region for region in marked_regions(body))


def _needs_order(finding: Finding, body: str) -> bool:
    """Return True if a comment in a block of imports, or above it, is about their order."""
    if finding["code"] != _UNSORTED_IMPORTS:
        return False
    lines = _lines(body)
    above = takewhile(lambda line: line.lstrip().startswith("#"), lines[finding["line"] - 2 :: -1])
    block = lines[finding["line"] - 1 : finding["end_line"]]
    return any(map(_NEEDED_ORDER.search, [*(above if finding["line"] > 1 else ()), *block]))


def _is_only_a_placeholder(finding: Finding) -> bool:
    """Return True if a fix makes an f-string of one placeholder and nothing else."""
    fix = finding["fix"]
    return finding["code"] == _F_STRING and any(
        _PLACEHOLDER.fullmatch(edit["content"]) for edit in (fix["edits"] if fix else ())
    )


def _placeholders_beside_others(
    findings: Iterable[Finding], kept: Collection[Place], body: str
) -> Iterator[Place]:
    """Yield f-strings of one placeholder in statements in which other calls become f-strings."""
    together: dict[ast.AST | None, list[Finding]] = defaultdict(list)
    for each in findings:
        if each["code"] == _F_STRING and each["fix"]:
            together[_statements(body).get(each["line"])].append(each)
    for group in together.values():
        if any(place_of(each) not in kept for each in group):
            yield from (place_of(each) for each in group if _is_only_a_placeholder(each))


@lru_cache(maxsize=1)
def _statements(body: str) -> dict[int, ast.stmt]:
    """Return the innermost statement that contains a line, by the number of the line."""
    found = [node for node in reversed(_nodes(body)) if isinstance(node, ast.stmt)]
    found.sort(key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    return {line: node for node in found for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def _has_comment_above(finding: Finding, body: str) -> bool:
    """Return True if a statement that a fix removes has a comment in the line above."""
    if finding["code"] not in _REMOVED or finding["line"] == 1:
        return False
    return _lines(body)[int(finding["line"]) - 2].lstrip().startswith("#")


def _is_only_statement(finding: Finding, body: str) -> bool:
    """Return True for a `pass` that has only a docstring beside it, where many authors write one."""
    return finding["code"] == _NO_EFFECT and finding["line"] in _second_of_two(body)


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
    place: ToolTree,
    path: str,
    body: str,
    findings: Sequence[Finding],
    selected: SelectedRules,
) -> dict[str, str]:
    """Return the rules whose findings stay, with the reasons.

    A project that supports Python 2 gets nothing that needs Python 3.

    Unless the project configures ruff, files with code for Python 2 stay as they are until that code
    is removed or the rules are selected, and so do files that tests read as data.
    """
    codes = {finding["code"] for finding in findings}
    own = is_configured(place, path)
    if not own and _is_test_data(place, path):
        return dict.fromkeys(codes, "tests read the file as data")
    skipped = dict.fromkeys(codes & _UNDERSCORES, "an underscore makes the code no better")
    newer = [code for code in codes if code.startswith(_PYTHON_3)]
    if newer and supports_python_2(place):
        skipped |= dict.fromkeys(newer, "the project supports Python 2")
    elif not own and _has_python_2_code(body):
        upgrades = [code for code in codes if code.startswith(_UPGRADES)]
        left = [code for code in upgrades if not selected.are_asked_for(path, code)]
        skipped |= dict.fromkeys(left, "the file has code for Python 2")
    return skipped | kept_suppressions(place, path, findings, selected)


def _has_python_2_code(body: str) -> bool:
    """Return True if a file has code for Python 2, and nothing that only Python 3 can parse."""
    if not _PYTHON_2_CODE.search(body):
        return False
    return not any(
        isinstance(node, _PYTHON_3_SYNTAX)
        or getattr(node, "annotation", None) is not None
        or getattr(node, "returns", None) is not None
        for node in _nodes(body)
    )


def _moves_lines(finding: Finding) -> bool:
    """Return True if a fix may change the number of lines."""
    fix = finding["fix"]
    if fix is None:  # a recipe
        return True
    return any(
        edit["content"].count("\n") != edit["end_line"] - edit["line"] for edit in fix["edits"]
    )


def _needs_extensions(finding: Finding) -> bool:
    """Return True if a fix imports from `typing_extensions`, which may not be installed."""
    fix = finding["fix"]
    return fix is not None and any(_EXTENSIONS in edit["content"] for edit in fix["edits"])


def _is_explained(finding: Finding, body: str) -> bool:
    """Return True if a comment of an unused or repeated import says what it is for."""
    if finding["code"] not in (_UNUSED_IMPORT, _REPEATED):
        return False
    comments = _WORDS.findall(_lines(body)[finding["line"] - 1])
    return not all(map(is_for_tool, comments))


def _is_in_fallback(finding: Finding, body: str) -> bool:
    """Return True if an import is in a `try` that expects that an import fails."""
    return finding["code"] in _IN_FALLBACK and finding["line"] in _fallback_lines(body)


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
    found: dict[str, str] = {}
    for pattern in ("**/test*.py", "**/*_test.py"):
        for test in list(place.files.glob(pattern, look=place.left))[:_MOST_FILES]:
            with suppress(HostError):  # too large
                content = place.read(test)
                if b"__doc__" in content:
                    found[test] = content.decode("utf-8", "replace")
    return found


def _is_expected(finding: Finding, body: str, expected: str) -> bool:
    """Return True if a finding is in a docstring whose first line a test probably expects."""
    if finding["code"] not in _DOCSTRING_TEXT:
        return False
    lines = _lines(body)[finding["line"] - 1 : finding["line"] + 1]
    text = next(filter(None, (line.strip(_QUOTES).rstrip(".") for line in lines)), "")
    if len(text) < _LEAST_TEXT:
        return False
    alone = rf"(?<![\"'])[\"']{re.escape(text)}[\"'](?![\"'])"
    if " " in text and text in expected:
        return True
    texts = [expected, *([body] if "__doc__" in body else [])]
    return any(re.search(alone, each) is not None for each in texts)
