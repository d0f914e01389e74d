"""Tests, fixtures and setup functions in one file."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from remora.code.ir import model as ir
from remora.code.ir.model import Call, LoweredFile, Scope, has_tag, unqualified_name
from remora.code.pytest_model.pytest_settings import PytestSettings
from remora.ids import unescape_path

PytestRole = Literal["test", "fixture", "setup"]
_SETUP_FUNCTIONS = frozenset(
    f"{verb}{where}"
    for verb in ("setup", "teardown")
    for where in ("", "_method", "_class", "_function", "_module")
) | {
    *("setUp", "tearDown", "setUpClass", "tearDownClass", "setUpModule", "tearDownModule"),
    *("asyncSetUp", "asyncTearDown", "setUpTestData"),
}
FIXTURE_REQUEST_FUNCTIONS = ("usefixtures", "getfixturevalue")
"""pytest functions that take fixture names as strings."""
_REPEAT = re.compile(r"#\d+")
_UNARY_TAGS = frozenset(
    {ir.ATTRIBUTE, ir.ITEM, ir.SLICE, ir.AWAIT, ir.ELEMENT, ir.STAR, ir.ENTERED, ir.INSTANCE}
)
"""Tags of terms with one operand."""
_SWITCH = "__test__"
TEST_FOLDERS = frozenset(("test", "tests", "testing"))


def is_test_file(path: str) -> bool:
    """Return True if pytest collects the file by default."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def is_conftest(path: str) -> bool:
    """Return True if the file provides fixtures for its folder and subfolders."""
    return path.rpartition("/")[2] == "conftest.py"


def is_unittest_file(path: str) -> bool:
    """Return True for files such as `tests/testcart.py` and `tests.py`.

    pytest collects such files only if they are named in its command.
    """
    *folders, file = path.split("/")
    if file == "tests.py" or path == "test.py":
        return True
    in_tests = bool(folders) and folders[-1] in ("test", "tests")
    return in_tests and file.startswith("test") and file.endswith(".py") and not is_test_file(path)


def is_of_tests(path: str) -> bool:
    """Return True if the file belongs to a project's tests."""
    in_folder = not TEST_FOLDERS.isdisjoint(path.split("/")[:-1])
    return in_folder or is_test_file(path) or is_conftest(path)


def pytest_id(path: str, qualname: str) -> str:
    """Return the pytest ID of a test, without parameters. An unprintable path stays escaped."""
    raw = unescape_path(path)
    text = raw if raw.isprintable() else path
    return "::".join([text, *_REPEAT.sub("", qualname).split(".")])


class PytestFile:
    """The tests and fixtures in one file. Paths and qualnames are those of node keys."""

    def __init__(self, lowered: LoweredFile, settings: PytestSettings, *, collected: bool) -> None:
        self.path = lowered.path
        self.is_collected = collected
        """True if pytest collects the file, or does so if the file is named in its command."""
        self._settings = settings
        self._lowered = lowered
        self._functions: dict[str, Scope] = {}
        self.classes: dict[str, Scope] = {}
        for scope in lowered.scopes:
            if scope.kind == ir.FUNCTION_SCOPE:
                self._functions[scope.qualname] = scope
            elif scope.kind == ir.CLASS_SCOPE:
                self.classes[scope.qualname] = scope
        self.fixtures: dict[str, str] = {}
        """The names of fixtures by the qualname of their function."""
        self.autouse: set[str] = set()
        """The qualnames of fixtures that all tests around them use."""
        for qualname, scope in self._functions.items():
            self._note_fixture(qualname, scope)

    def role(self, qualname: str) -> tuple[PytestRole, str] | None:
        """Return the role and qualname of the outermost function that contains a node, or None."""
        if (outer := self._outermost(qualname)) is None:
            return None
        if outer in self.fixtures:
            return "fixture", outer
        if (name := self._functions[outer].name) in _SETUP_FUNCTIONS:
            return "setup", outer
        # a class in any file may be the base class of a collected test class
        is_named = name.startswith("test") or self._settings.names_test(name)
        return ("test", outer) if is_named and (self.is_collected or "." in outer) else None

    def tests(self, class_name: str = "") -> Iterator[str]:
        """Yield the qualnames of the test functions in the file, or in one class."""
        prefix = f"{class_name}." if class_name else ""
        for qualname in self._functions:
            if qualname.startswith(prefix) and self.role(qualname) == ("test", qualname):
                yield qualname

    def fixture_users(self, fixture: str) -> Iterator[str]:
        """Yield the functions that request `fixture` by parameter, mark or `getfixturevalue`."""
        yield from self._users_by_fixture.get(fixture, ())

    def functions_using(self, name: str) -> Iterator[str]:
        """Yield the tests and fixtures whose code or decorators use `name`."""
        for qualname in sorted(self._used_names.get(name, ())):
            if (role := self.role(qualname)) is not None:
                yield role[1]

    @cached_property
    def _used_names(self) -> Mapping[str, set[str]]:
        return name_usage(self._lowered)

    def may_run(self, qualname: str) -> bool:
        """Return False if a definition is deleted, disabled, or in code that never runs."""
        scopes, blocks = self._lowered.scopes, self._lowered.blocks
        scope = self._functions.get(qualname) or self.classes[qualname]
        block = self._lowered.statements[scope.at]
        while block > 0 and not blocks[block].flags & ir.NEVER_RUNS:
            block = blocks[block].parent
        bound = scopes[scope.parent].binds.get(scope.name, ())
        is_deleted = bool(bound) and bound[-1].kind == ir.DELETED
        is_on = self.switches.get("", True) and self.switches.get(qualname, True)
        return is_on and block <= 0 and not is_deleted

    @cached_property
    def switches(self) -> dict[str, bool]:
        """Maps functions and classes to their value of `__test__`. The module's name is empty."""
        scopes = {"": self._lowered.scopes[0], **self.classes}
        bound = {name: scope.binds.get(_SWITCH) for name, scope in scopes.items()}
        terms = {name: binds[-1].term for name, binds in bound.items() if binds}
        terms |= {
            str(store.base): store.term for store in self._lowered.stores if store.name == _SWITCH
        }
        return {name: not (has_tag(t, ir.CONSTANT) and len(t) > 2) for name, t in terms.items()}

    def _outermost(self, qualname: str) -> str | None:
        parts = qualname.split(".")
        for end in range(1, len(parts) + 1):
            if (outer := ".".join(parts[:end])) in self._functions:
                return outer
        return None

    def _note_fixture(self, qualname: str, scope: Scope) -> None:
        for decorator in self._decorators(scope):
            call = self._call_of(decorator)
            if unqualified_name(self._callee(decorator)).endswith("fixture"):
                arguments = dict(call.keywords) if call is not None else {}
                texts = _texts([arguments.get("name")])
                self.fixtures[qualname] = texts[0] if texts else scope.name
                if "autouse" in arguments:
                    self.autouse.add(qualname)

    @cached_property
    def _users_by_fixture(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, dict[str, None]] = {}
        for qualname, names in self._requests():
            for name in names:
                found.setdefault(name, {})[qualname] = None
        return {name: list(users) for name, users in found.items()}

    def _requests(self) -> Iterator[tuple[str, Iterable[str]]]:
        for call in self._lowered.calls:
            if unqualified_name(call.callee) == "getfixturevalue":
                role = self.role(self._lowered.scopes[call.scope].qualname)
                yield from [(role[1], _texts(call.args))] if role is not None else []
        for qualname, scope in self._functions.items():
            if self.role(qualname) is not None:
                yield qualname, [param.name for param in scope.params]
                yield qualname, self._fixtures_in_marks(self._decorators(scope))
        for class_name, scope in [("", self._lowered.scopes[0]), *self.classes.items()]:
            marks = [
                bind.term for bind in scope.binds.get("pytestmark", ()) if bind.kind == ir.VALUE
            ]
            names = list(self._fixtures_in_marks([*self._decorators(scope), *marks]))
            for test in self.tests(class_name) if names else ():
                yield test, names

    def _fixtures_in_marks(self, marks: Iterable[Any]) -> Iterator[str]:
        pending = list(marks)
        while pending:
            mark = pending.pop()
            call = self._call_of(mark)
            if call is not None and unqualified_name(call.callee) == "usefixtures":
                yield from _texts(call.args)
            elif call is None and isinstance(mark, Sequence) and mark[0] == ir.CONTAINER:
                pending += self._lowered.containers[mark[1]].items

    def _decorators(self, scope: Scope) -> list[Any]:
        return [self._lowered.calls[number].callee for number in scope.decorators]

    def _callee(self, term: Any) -> Any:
        call = self._call_of(term)
        return term if call is None else call.callee

    def _call_of(self, term: Any) -> Call | None:
        return self._lowered.calls[term] if isinstance(term, int) else None


def _texts(terms: Iterable[Any]) -> list[str]:
    return [str(t[1]) for t in terms if isinstance(t, Sequence) and len(t) > 1 and t[0] == ir.TEXT]


def name_usage(lowered: LoweredFile) -> Mapping[str, set[str]]:
    """Map each name to the qualnames of the nodes that use it, including uses in decorators."""
    found: dict[str, set[str]] = {}
    for owner, term in _evaluated_terms(lowered):
        for name in _names(lowered, term, deep=False):
            found.setdefault(name, set()).add(lowered.scopes[owner].qualname)
    for scope in lowered.scopes:
        for number in scope.decorators:
            for name in _names(lowered, lowered.calls[number].callee, deep=True):
                found.setdefault(name, set()).add(scope.qualname)
    return found


def _evaluated_terms(lowered: LoweredFile) -> Iterator[tuple[int, Any]]:
    """Yield (scope number, term) for the terms that are evaluated in each scope."""
    for call in lowered.calls:
        yield from ((call.scope, term) for term in _operands(call))
    for store in lowered.stores:
        yield from ((store.scope, term) for term in (store.base, store.term))
    for fill in lowered.fills:
        yield from ((fill.scope, term) for term in (fill.base, fill.term))
    for container in lowered.containers:
        yield from ((container.scope, term) for term in container.items)
    for number, scope in enumerate(lowered.scopes):
        binds = [bind for bound in scope.binds.values() for bind in bound]
        yield from ((number, bind.term) for bind in binds if bind.kind in (ir.VALUE, ir.NARROWED))
        yield from ((number, bind.extra) for bind in binds if bind.kind == ir.ANNOTATED)
        yield from ((number, term) for _, term in scope.results)


def _names(lowered: LoweredFile, term: Any, *, deep: bool) -> Iterator[str]:
    """Yield the names in a term, those in calls and containers only if `deep` is True."""
    pending = [term]
    while pending:
        term = pending.pop()
        if isinstance(term, str):
            yield term
        elif isinstance(term, int):
            pending += _operands(lowered.calls[term]) if deep else ()
        elif term and term[0] == ir.CONTAINER:
            pending += lowered.containers[term[1]].items if deep else ()
        elif term and term[0] in _UNARY_TAGS:
            pending.append(term[1])
        elif term and term[0] == ir.EITHER:
            pending += term[1:]


def _operands(call: Call) -> list[Any]:
    return [call.callee, *call.args, *(value for _, value in call.keywords)]
