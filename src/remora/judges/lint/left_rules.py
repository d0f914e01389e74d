"""Rules about fixes that are left alone, because a person or another tool needs what is there.

    try:
        import yaml              # ruff: unused, remove it
    except ImportError:
        sys.exit("install PyYAML")

The rules are tried in order. Some decide on all findings of a file with a code, the others on one
finding. `measured` counts the safe fixes that a rule left in 200 packages, and these packages.
"""

import ast
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, cached_property, partial
from importlib.metadata import version
from itertools import pairwise
from typing import Any, NamedTuple

from remora.code.edit.comments import may_go, placed_comments, silenced_codes
from remora.code.folders import BESIDE, is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.definitions import ImportNode
from remora.code.syntax.signature import docstring_text
from remora.judges.lint.conversions import IDIOMS, lines_in, nodes_of, reordered, usual_idioms
from remora.judges.rules import Rule, of_version
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.config_files import is_configured, oldest_minor, supports_python_2
from remora.tools.host.ruff.finding import Finding
from remora.tools.host.ruff.ruff_versions import ruff_use, version_of
from remora.tools.host.ruff.rule_choice import SelectedRules, noqa_prefixes
from remora.tools.host.ruff.rules import rule_codes
from remora.tools.tree import ToolTree

UNUSED_IMPORT = "F401"
_NO_EFFECT = "PIE790"
_UNUSED = (UNUSED_IMPORT, "F841", _NO_EFFECT)
"""Rules about what has no effect."""
_NO_QA = "RUF10"
"""Beginning of the rules about `# noqa` comments."""
_OF_VERSION = ("RUF10", "I001")
"""Beginnings of rules that differ between versions of ruff: `noqa` comments, sorted imports."""
_SUBMODULE = re.compile(r"\s*import\s+(\w+\.[\w.]+)\s*#")
_COMMENTED_IMPORTS = re.compile(r"\s*import\b[^#]*,[^#]*#")
_BACKPORT = "typing_extensions"
_VERSION = re.compile(r"^\s*__version__\s*=", re.MULTILINE)
"""The line with which a package states its version."""
_PYTHON_3 = (
    "UP", "FURB", "PTH", "FLY", "FA", "TC", "ANN", "PYI", "B904", "B905", "RUF005", "RUF012", "RUF013",
    "SIM105", "PLW1514",
)  # fmt: skip
"""Beginnings of rules whose fixes need Python 3."""
_F_STRING = "UP032"
_F_STRINGS, _WITH_F_STRINGS = {_F_STRING, "FLY002"}, 6
"""Rules whose fixes need f-strings, and the first minor version that has them."""
_CHOSEN = (UNUSED_IMPORT, "UP035", "UP026")
"""Rules about imports that are unused or have moved."""
_MAYBE_ANOTHER = {"F504", "F522", "F523", "PYI016", "RUF068"}
"""Rules about what is given for nothing or twice, maybe by mistake for something else."""
_BY_NAME = {"B009", "B010"}
"""Rules about `getattr` and `setattr` with a constant name."""
_UNDERSCORES = {"B007", "RUF059"}
"""Rules whose fixes put an underscore before an unused name, which makes the code no better."""


class LintedFile:
    """A file with findings, and what its project says about them."""

    def __init__(self, place: ToolTree, path: str, findings: Sequence[Finding]) -> None:
        self.place, self.path = place, path
        self.codes = {finding["code"] for finding in findings}
        selected = place.ruff.options.once(SelectedRules, (*place.ruff.selected,))
        self.is_meant = cache(partial(selected.are_meant, path))
        """Returns True if the user or the project selects a rule by its own code."""
        self.is_configured = place.once_beside(is_configured, path)

    @cached_property
    def is_copy(self) -> bool:
        return is_vendored(self.path) or _has_own_version(self.place, self.path)

    @property
    def minor(self) -> int | None:
        """The oldest Python 3 that the project supports, if it says so."""
        return self.place.once(oldest_minor)

    @property
    def pins_other_ruff(self) -> bool:
        use = self.place.once(ruff_use)
        return use.version is not None and use.version[:2] != version_of(version("ruff"))[:2]


class CodeInFile(NamedTuple):
    """All findings of a file with a code."""

    code: str
    file: LintedFile

    def is_of_version(self) -> bool:
        """Return True if another version of ruff or another linter may see this otherwise."""
        selected = self.file.place.ruff.selected
        return self.code.startswith(_OF_VERSION) and self.code not in selected


FILE_RULES: tuple[Rule[CodeInFile], ...] = (
    Rule(
        "copy",
        "vendored/six.py",
        "the file is a copy from another project",
        "660 in 7",
        lambda case: case.file.is_copy,
    ),
    Rule(
        "version",
        "ruff==0.4.1 and `# noqa: E203`",
        "the project pins another version of ruff",
        "23 in 3",
        lambda case: case.is_of_version() and case.file.pins_other_ruff,
    ),
    Rule(
        "python-2",
        "`class A(object)` for Python 2.7",
        "the project supports Python 2",
        "3,161 in 31",
        lambda case: (
            case.code.startswith(_PYTHON_3) and bool(case.file.place.once(supports_python_2))
        ),
    ),
    Rule(  # ruff knows no Python before 3.7
        "f-string",
        "`'%s' % name` for Python 3.5",
        "the project supports Python 3.{case.file.minor}",
        "197 in 3",
        lambda case: (
            case.code in _F_STRINGS
            and (minor := case.file.minor) is not None
            and minor < _WITH_F_STRINGS
        ),
    ),
    Rule(
        "test-call",
        "`getattr(box, 'x')` in a test",
        "a test may need the call",
        "68 in 18, with `--select B`",
        lambda case: case.code in _BY_NAME and is_of_tests(case.file.path),
    ),
    Rule(
        "other-value",
        "`'{a}'.format(a=a, b=b)`",
        "another value may be meant",
        "46 in 14",
        lambda case: case.code in _MAYBE_ANOTHER,
    ),
    Rule(
        "underscore",
        "`for x in y` without `x`",
        "an underscore makes the code no better",
        "2,377 in 133, unsafe and with `--select B007,RUF059`",
        lambda case: case.code in _UNDERSCORES,
    ),
    Rule(
        "idiom",
        "`Optional[int]`",
        "most of the project keeps the other way of writing",
        "3,474 in 36",
        lambda case: (
            case.code in IDIOMS
            and case.code in case.file.place.once(usual_idioms)
            and not case.file.is_meant(case.code)
        ),
    ),
)
"""Rules about all findings of a file with a code, which are left without a look at them."""


class CaseInBody(NamedTuple):
    """A finding in a version of a file, and the text of this version."""

    finding: Finding
    body: str
    file: LintedFile

    def is_for_linter(self) -> bool:
        """Return True for a `noqa` comment that another linter of the project may need.

        So is one with a code that ruff does not know, or in a form that ruff has only in preview.
        """
        code, place = self.finding["code"], self.file.place
        codes = _noqa_lines(self.body).get(self.finding["line"])
        if not code.startswith(_NO_QA) or (codes is not None and code in place.ruff.selected):
            return False
        if codes is None:  # such as an `ignore` with the name of a rule
            return True
        known, rules = place.once(noqa_prefixes), " ".join(["", *rule_codes()])
        is_needed = any(code.startswith(known) or f" {code}" not in rules for code in codes)
        return is_needed or (bool(known) and not codes)

    def is_silenced(self) -> bool:
        """Return True if a comment silences a finding for linters that read more than ruff does."""
        code, lines = self.finding["code"], _noqa_lines(self.body)
        if code.startswith(_OF_VERSION):
            return False
        near = (0, self.finding["line"], self.finding["end_line"])
        said = [lines[line] for line in near if line in lines]
        return any(not codes or code.startswith(tuple(codes)) for codes in said)

    def is_empty_body(self) -> bool:
        """Return True for a `pass` after a docstring, or under a comment that would be the end."""
        file, code = self.file, self.finding["code"]
        if code != _NO_EFFECT or file.is_configured or file.is_meant(code):
            return False
        line = self.finding["line"]
        above = lines_in(self.body)[: line - 1][-1:]
        is_commented = any(text.lstrip().startswith("#") for text in above)
        return is_commented or line in _after_docstrings(self.body)

    def hides_builtin(self) -> bool:
        added = " ".join(edit["content"] for edit in _edits(self.finding))
        return "import builtins" in added and "import builtins" not in self.body

    def is_choice(self) -> bool:
        is_import = self.finding["code"] in _CHOSEN
        return is_import and self.finding["line"] in _import_choices(self.body)

    def is_of_submodule(self) -> bool:
        """Return True for a `noqa` comment of `import a.b`, if `a.b` is not used.

        Of several imports of submodules of `a`, ruff looks only at the last one.
        """
        if not self.finding["code"].startswith(_NO_QA):
            return False
        module = _SUBMODULE.match(lines_in(self.body)[self.finding["line"] - 1])
        return module is not None and module[1] not in _without_imports(self.body)

    def divides_comment(self) -> bool:
        """Return True if sorting leaves the comment of `import a, b` at one of them."""
        if self.finding["code"] != "I001":
            return False
        lines = lines_in(self.body)[self.finding["line"] - 1 : self.finding["end_line"]]
        return any(map(_COMMENTED_IMPORTS.match, lines))

    def needs_package(self) -> bool:
        """Return True for a fix that imports what the project does not require."""
        added = "".join(edit["content"] for edit in _edits(self.finding))
        is_new = _BACKPORT in added and _BACKPORT not in self.body
        return is_new and not self.file.place.once(_requires_backport)

    def is_shown(self) -> bool:
        *folders, name = self.file.path.split("/")
        is_unused = self.finding["code"] in _UNUSED
        return is_unused and name != "conf.py" and not BESIDE.isdisjoint(folders)


FIX_RULES: tuple[Rule[CaseInBody], ...] = (
    Rule(
        "comment",
        "`else:  # pragma: no cover`",
        "the fix removes a comment",
        "6 in 4",
        lambda case: _removes_comment(case.finding, case.body) or case.divides_comment(),
    ),
    Rule(
        "noqa",
        "`import tasks  # NOQA: registers the tasks`",
        "a comment keeps it",
        "40 in 3",
        CaseInBody.is_silenced,
    ),
    Rule(
        "linter",
        "pycodestyle and `# noqa: E203`",
        "another linter may need the comment",
        "102 in 10, with `--select default`",
        CaseInBody.is_for_linter,
    ),
    Rule(
        "order",
        "`'{} {}'.format(stack, stack.pop())`",
        "values would be computed in another order",
        "8 in 5",
        lambda case: (
            case.finding["code"] == _F_STRING and case.finding["line"] in reordered(case.body)
        ),
    ),
    Rule(
        "empty-body",
        "a docstring and `pass`",
        "it marks an empty body",
        "at least 180 in 32",
        CaseInBody.is_empty_body,
    ),
    Rule(
        "builtin",
        "`from io import open`",
        "it hides a builtin",
        "10 in 2",
        CaseInBody.hides_builtin,
    ),
    Rule(
        "import-choice",
        "`try: import yaml`",
        "what can be imported decides",
        "59 in 13",
        CaseInBody.is_choice,
    ),
    Rule(
        "submodule-noqa",
        "`import shop.signals  # noqa: F401`",
        "the comment may be needed",
        "18 in 5, with `--select RUF100`",
        CaseInBody.is_of_submodule,
    ),
    Rule(
        "backport",
        "`from typing_extensions import Self`",
        "the project lacks typing_extensions",
        "37 in 6, with `--select PYI019`",
        CaseInBody.needs_package,
    ),
    Rule(
        "example",
        "an unused name in `examples/`",
        "an example shows it",
        "38 in 12",
        CaseInBody.is_shown,
    ),
)
"""Rules about a finding, before those about unused imports."""


def _edits(finding: Finding) -> Sequence[dict[str, Any]]:
    return finding["fix"]["edits"] if finding["fix"] else ()


def _removes_comment(finding: Finding, body: str) -> bool:
    """Return True if a fix removes a comment that the finding is not in."""
    replacement = "".join(edit["content"] for edit in _edits(finding))
    return any(
        not (line == finding["line"] and column <= finding["column"])
        and not may_go(text, header, replacement)
        for edit in _edits(finding)
        if "#" in "".join(lines_in(body)[edit["line"] - 1 : edit["end_line"]])
        for comments in [placed_comments(body)]
        for first in [bisect_left(comments, (edit["line"], edit["column"]))]
        for last in [bisect_left(comments, (edit["end_line"], edit["end_column"]))]
        for line, column, text, header in comments[first:last]
    )


_without_imports = of_version(partial(re.compile(r"(?m)^\s*import\b.*").sub, ""))


@of_version
def _noqa_lines(body: str) -> dict[int, list[str]]:
    """Return the codes of `noqa` comments by line. One at an end of an import is for all its lines."""
    found = silenced_codes(body)
    for node in nodes_of(body) if found else ():
        if isinstance(node, ImportNode):
            lines = range(node.lineno, (node.end_lineno or 0) + 1)
            said = found.get(lines[0], found.get(lines[-1]))
            found |= {} if said is None else dict.fromkeys(lines, said)
    return found


@of_version
def _import_choices(body: str) -> frozenset[int]:
    """Return the lines of statements that import what the version or the environment has."""
    return frozenset(
        line
        for node in nodes_of(body)
        if (isinstance(node, ast.If) and node.orelse and "version_info" in ast.dump(node.test))
        or (isinstance(node, ast.Try | ast.TryStar) and node.handlers)
        or isinstance(node, ast.With)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    )


@of_version
def _after_docstrings(body: str) -> frozenset[int]:
    """Return the lines of the statements that are alone after a docstring."""
    bodies = (getattr(node, "body", None) for node in nodes_of(body))
    return frozenset(
        block[1].lineno
        for block in bodies
        if isinstance(block, list) and len(block) == 2 and docstring_text(block) is not None
    )


def _requires_backport(place: FileTree) -> bool:
    texts = place.contents("pyproject.toml", "setup.*", "*requirements*.txt", "requirements/*.txt")
    return any(re.search(rb"typing[-_]extensions", content) for _, content in texts)


def _has_own_version(place: ToolTree, path: str) -> bool:
    """Return True if a package inside another one, such as `strictyaml.ruamel`, has a version."""
    *folders, _ = path.split("/")
    packages = ["/".join([*folders[:end], "__init__.py"]) for end in range(1, len(folders) + 1)]
    inner = (own for outer, own in pairwise(packages) if place.files.exists(outer))
    return any(_VERSION.search(place.text_or_empty(package)) for package in inner)
