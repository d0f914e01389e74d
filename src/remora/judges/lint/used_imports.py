"""Imports that a project needs although their names are not used in the file."""

import ast
import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from remora.code.edit.import_edits import imported_names
from remora.code.pytest_model.pytest_file import is_conftest, is_of_tests, is_test_file
from remora.code.syntax.definitions import DefinitionNode, ImportNode
from remora.code.syntax.hidden_uses import hidden_uses
from remora.code.syntax.source import shared_tree
from remora.judges.lint.conversions import lines_in, nodes_of
from remora.judges.lint.import_effects import ImportEffects
from remora.judges.lint.left_rules import UNUSED_IMPORT, LintedFile
from remora.judges.rules import Rule, of_version
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.config_files import settings_for
from remora.tools.host.ruff.finding import Finding, Place, place_of
from remora.tools.host.ruff.rule_choice import SELECT, setting_values
from remora.tools.host.ruff.rules import expand

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*(?:import|from)\b.*", re.MULTILINE)
_ALIAS = re.compile(r"(\w+)[ \t]+as[ \t]+(\w+)")
_USE = re.compile(r"\b([A-Za-z_]\w*)(?=[.:]([A-Za-z_]\w*))")
UNUSED = re.compile(r"`([^`]+)` imported but unused")
_EXAMPLE = re.compile(r"^[ \t]*(?:>>>|\.\.\.)[ \t](.*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_FIXTURE = re.compile(
    r"^[ \t]*@[\w.]*fixture\b.*\n(?:.*\n){0,8}?[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE
)
_COLLECTED = re.compile(r"^[Tt]est|Tests?$|TestCase$")
_TEST_RUNNER = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:unittest|pytest)\b", re.MULTILINE)
_runs_tests = of_version(_TEST_RUNNER.search)
_OF_SPHINX = re.compile(r"^(?:extensions|project|html_theme)\s*=", re.MULTILINE)
_ALL = "*"
_FILES = ("py", "pyi", "rst", "md", "sh", "cfg", "toml")

ImportedNames = frozenset[tuple[str, str]]
"""Last part of a module's name, and a name in it or `*`."""


def names_from_modules(place: FileTree) -> ImportedNames:
    """Return the names that code, docs or settings import from a module, or use as `module.name`."""
    found: set[tuple[str, str]] = set()
    for _, content in place.contents(*(f"**/*.{kind}" for kind in _FILES)):
        body = content.decode("utf-8", "replace")
        found.update(_USE.findall(body), _imported_pairs(body))
    return frozenset(found)


def submodules_used(place: FileTree) -> ImportedNames:
    """Return what modules use as `package.module` without an import that loads it."""
    texts = (content.decode("utf-8", "replace") for _, content in place.contents("**/*.py"))
    return frozenset(pair for text in texts for pair in _attributes(text) - _imported_pairs(text))


@of_version
def _attributes(body: str) -> ImportedNames:
    """Return what a file uses as `package.module`, with the package's own name for its alias."""
    names = {alias: name for name, alias in _ALIAS.findall(body)}
    uses = _USE.findall(_IMPORT.sub("", body))
    return frozenset((names.get(name, name), part) for name, part in uses)


@of_version
def _words_of_examples(body: str) -> frozenset[str]:
    return frozenset(word for line in _EXAMPLE.findall(body) for word in _WORD.findall(line))


def _imported_pairs(body: str) -> set[tuple[str, str]]:
    pairs = {pair for line in _IMPORT.findall(body) for pair in _USE.findall(line)}
    froms = ((module.rpartition(".")[2], names) for module, names in _FROM.findall(body))
    return pairs.union(
        (last, name) for last, names in froms for name in re.findall(r"\w+|\*", names)
    )


class UnusedImport(NamedTuple):
    """An import that a finding calls unused, in a version of its file."""

    file: LintedFile
    """The file and its project."""
    body: str
    """The text of the version."""
    finding: Finding
    """The finding, whose place is that of the imported name."""
    node: ast.stmt
    """The import statement."""
    lost: frozenset[str]
    """The modules that no import loads that is used, at the top of the file."""
    trusts_others: bool
    """Modules of other projects only define names: the user or the project names the rule."""

    @property
    def imported(self) -> str:
        return str(UNUSED.findall(self.finding["message"])[0])

    @property
    def bound(self) -> set[str]:
        return bound_names(self.finding, self.body)

    @property
    def _is_standard(self) -> bool:
        return self.imported.partition(".")[0] in sys.stdlib_module_names

    def is_used_elsewhere(self) -> bool:
        """Return True if another file may need a name that the file binds.

        Files of submodules are not seen.
        """
        if self.file.place.files.exists(".gitmodules") and not self._is_standard:
            return True
        *folders, name = self.file.path.split("/")
        module = name.removesuffix(".py")
        if module == "__init__":
            module = folders[-1] if folders else ""
        known = self.file.place.once(names_from_modules)
        return any((module, name) in known for name in (*self.bound, _ALL))

    def is_in_example(self) -> bool:
        return not self.bound.isdisjoint(_words_of_examples(self.body))

    def is_in_quotes(self) -> bool:
        return not self.bound.isdisjoint(_hidden_uses(self.body))

    def serves_tests(self) -> bool:
        """Return True if a test runner finds tests, fixtures or hooks by an import.

        Pytest collects test classes and functions that a module of tests only imports, and finds
        fixtures and hooks that a `conftest.py` imports. So does `unittest.main()` in a module that
        only imports test cases and runs them.
        """
        if "." not in self.imported or self._is_standard:
            return False
        if is_conftest(self.file.path):
            return True
        settings = self.file.place.once(FileTree.pytest_settings)
        is_collected = settings.collects(self.file.path)
        if is_collected and not is_test_file(self.file.path):  # the project's own pattern
            return True
        if not (is_collected or is_of_tests(self.file.path) or _runs_tests(self.body)):
            return False
        fixtures = self.file.place.once(_fixture_names)
        return any(_COLLECTED.search(name) or name in fixtures for name in self.bound)

    def is_the_test(self) -> bool:
        """Return True for an import in a function of a test, or in a test that only imports."""
        if self._is_standard or not is_of_tests(self.file.path):
            return False
        nodes = nodes_of(self.body) if self.node.col_offset == 0 else ()
        return not any(isinstance(node, DefinitionNode | ast.Call) for node in nodes)

    def may_act(self) -> bool:
        """Return True if loading may do more than define names."""
        effects = self.file.place.once(ImportEffects)
        return any(effects.may_act(name, trusts_others=self.trusts_others) for name in self.lost)

    def loads_submodule(self) -> bool:
        """Return True if code uses a module as an attribute of its package without an import."""
        names = (re.sub(r"(?:/__init__)?\.py$", "", name) for name in self.lost)
        lost = {tuple(re.split("[./]", name)[-2:]) for name in names}
        known = self.file.place.once(submodules_used), _attributes(self.body)
        return not all(map(lost.isdisjoint, known))

    def is_setting_of_sphinx(self) -> bool:
        """Return True for a name in Sphinx's settings that is from a package, unlike `sys`."""
        is_settings = self.file.path.rpartition("/")[2] == "conf.py" and _OF_SPHINX.search(
            self.body
        )
        return bool(is_settings) and "." in self.imported


IMPORT_RULES: tuple[Rule[UnusedImport], ...] = (
    Rule(
        "elsewhere",
        "`from shop.compat import BytesIO` in another file",
        "another file may import the name from here",
        "437 in 22",
        UnusedImport.is_used_elsewhere,
    ),
    Rule(
        "doctest",
        "`>>> pprint(cart)`",
        "an example in a docstring uses the name",
        "35 in 6",
        UnusedImport.is_in_example,
    ),
    Rule(
        "quotes",
        "`# type: (int) -> List[str]`",
        "a type in quotes uses the name",
        "502 in 9",
        UnusedImport.is_in_quotes,
    ),
    Rule(
        "tests",
        "`from .test_trees import TestTrees`",
        "a test runner uses the name",
        "79 in 4",
        UnusedImport.serves_tests,
    ),
    Rule(
        "import-test",
        "`def test_import(): import shop`",
        "the import is the test",
        "44 in 6",
        UnusedImport.is_the_test,
    ),
    Rule(
        "effect",
        "`from shop import plugins`",
        "its import may do more than define names",
        "149 in 21",
        UnusedImport.may_act,
    ),
    Rule(
        "submodule",
        "`import xml.dom` beside `xml.dom`",
        "code uses the module through its package",
        "3 in 2",
        UnusedImport.loads_submodule,
    ),
    Rule(
        "sphinx",
        "`from shop import __version__ as release` in `conf.py`",
        "Sphinx may read the name",
        "0: Sphinx documents `release`",
        UnusedImport.is_setting_of_sphinx,
    ),
)
"""Rules about imports that ruff calls unused, and that something needs. `measured` counts fixes in 200 packages."""


def unused_imports(
    file: LintedFile, body: str, findings: Iterable[Finding]
) -> dict[Place, UnusedImport]:
    """Return the imports that findings call unused, by the places of the findings."""
    unused = {(f["line"], f["column"]): f for f in findings if UNUSED.search(f["message"])}
    if not unused:
        return {}
    effects = file.place.once(ImportEffects)
    settings = file.place.once_beside(settings_for, file.path)
    chosen = {UNUSED_IMPORT}.intersection(file.place.ruff.selected)
    trusts = bool(expand([*chosen, *setting_values(settings, *SELECT)], (), [UNUSED_IMPORT]))
    found, used = list[tuple[Finding, ast.stmt, set[str]]](), set[str]()
    for node in nodes_of(body):
        if not isinstance(node, ImportNode):
            continue
        for alias, name in zip(node.names, imported_names(ast.Module([node], [])), strict=True):
            loaded = effects.reached(file.path, name)
            columns = range(alias.col_offset, alias.end_col_offset or 0)
            own = [unused.get((alias.lineno, column + 1)) for column in columns]
            found += [(finding, node, loaded) for finding in own if finding]
            used |= loaded if not (any(own) or node.col_offset) else set()
    return {
        place_of(finding): UnusedImport(file, body, finding, node, frozenset(loaded - used), trusts)
        for finding, node, loaded in found
    }


@of_version
def _hidden_uses(body: str) -> frozenset[str]:
    tree = shared_tree(body)
    return frozenset() if isinstance(tree, str) else frozenset(hidden_uses(body, tree))


def _fixture_names(place: FileTree) -> frozenset[str]:
    """Return the names of the functions of a project that are pytest fixtures."""
    texts = (content.decode("utf-8", "replace") for _, content in place.contents("**/*.py"))
    return frozenset(name for text in texts for name in _FIXTURE.findall(text))


def bound_names(finding: Finding, body: str) -> set[str]:
    """Return the names by which the import that a finding calls unused may be known.

    The message does not say that `from a import b as c` binds `c`, but the finding is at `c`.
    """
    unused = UNUSED.search(finding["message"])
    if unused is None:
        return set()
    imported = unused[1]
    line = lines_in(body)[finding["line"] - 1]
    name = line[finding["column"] - 1 : finding["end_column"] - 1]
    is_alias = name.isidentifier() and name != imported.rpartition(".")[2]
    return {name} if is_alias else {imported.split(".")[0], imported.rpartition(".")[2]}
