"""What pytest sees in one file: its tests, its fixtures, and what prepares them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from remora.code.lowered import (
    ANNOTATED,
    ATTRIBUTE,
    AWAIT,
    CLASS_SCOPE,
    CONTAINER,
    EACH,
    EITHER,
    ENTERED,
    FUNCTION_SCOPE,
    INSTANCE,
    ITEM,
    NARROWED,
    SLICE,
    STAR,
    TEXT,
    VALUE,
    Bind,
    Call,
    Lowered,
    Scope,
)
from remora.ids import unspell_path

Part = Literal["test", "fixture", "preparation"]
_PREPARATIONS = frozenset(
    f"{verb}{where}"
    for verb in ("setup", "teardown")
    for where in ("", "_method", "_class", "_function", "_module")
) | {"setUp", "tearDown", "setUpClass", "tearDownClass", "setUpModule", "tearDownModule"}
_CASES = re.compile(r"TestCase$")
_ONE = frozenset({ATTRIBUTE, ITEM, SLICE, AWAIT, EACH, STAR, ENTERED, INSTANCE})
"""Tags of terms that are made from one other."""
_REPEAT = re.compile(r"#\d+")


def is_test_file(path: str) -> bool:
    """Whether pytest collects the file, as it is set up by default."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def is_conftest(path: str) -> bool:
    """Whether the file gives fixtures to all tests of its folder and below."""
    return path.rpartition("/")[2] == "conftest.py"


def pytest_id(path: str, qualname: str) -> str:
    """pytest's id of a test, without parameters. A path that is not UTF-8 stays spelled."""
    raw = unspell_path(path)
    shown = raw if raw.isprintable() else path
    return "::".join([shown, *_REPEAT.sub("", qualname).split(".")])


class Suite:
    """One file as pytest sees it; `path` is spelled. Qualnames are those of node keys."""

    def __init__(self, lowered: Lowered) -> None:
        self.path = lowered.path
        self._lowered = lowered
        self._functions: dict[str, Scope] = {}
        self.classes: dict[str, Scope] = {}
        for scope in lowered.scopes:
            if scope.kind == FUNCTION_SCOPE:
                self._functions[scope.qualname] = scope
            elif scope.kind == CLASS_SCOPE:
                self.classes[scope.qualname] = scope
        self._fixtures: dict[str, str] = {
            qualname: name
            for qualname, scope in self._functions.items()
            if (name := self._fixture_name(scope)) is not None
        }
        self._mentions: dict[str, set[str]] | None = None

    def part(self, qualname: str) -> tuple[Part, str] | None:
        """What of pytest's the node is, or lies in, and its qualname."""
        outer = self._outermost(qualname)
        if outer is None:
            return None
        if outer in self._fixtures:
            return "fixture", outer
        name = self._functions[outer].name
        if name in _PREPARATIONS:
            return "preparation", outer
        # a class may be the base of one in a file that is collected
        possible = is_test_file(self.path) or "." in outer
        return ("test", outer) if name.startswith("test") and possible else None

    def fixture_name(self, qualname: str) -> str:
        """By which tests ask for the fixture."""
        return self._fixtures[qualname]

    def gives(self, name: str) -> bool:
        """Whether the file has a fixture of that name."""
        return name in self._fixtures.values()

    def tests(self, within: str = "") -> Iterator[str]:
        """Qualnames of the test functions of the file, or of one of its classes."""
        prefix = f"{within}." if within else ""
        for qualname in self._functions:
            if qualname.startswith(prefix) and self.part(qualname) == ("test", qualname):
                yield qualname

    def users(self, fixture: str) -> Iterator[str]:
        """Tests and fixtures that ask for a fixture by name, as parameter or by `usefixtures`."""
        for qualname, scope in self._functions.items():
            asks = any(parameter.name == fixture for parameter in scope.params)
            if (asks or self._uses(scope, fixture)) and self.part(qualname) is not None:
                yield qualname
        for qualname, scope in self.classes.items():
            if self._uses(scope, fixture):
                yield from self.tests(qualname)

    def mentioning(self, name: str) -> Iterator[str]:
        """Tests and fixtures whose code, or whose decorators, mention a name."""
        if self._mentions is None:
            self._mentions = self._all_mentions()
        for qualname in sorted(self._mentions.get(name, ())):
            part = self.part(qualname)
            if part is not None:
                yield part[1]

    def is_case(self, qualname: str) -> bool:
        """Whether a class is, by the name of a base, one of unittest's."""
        scope = self.classes.get(qualname)
        return scope is not None and any(_CASES.search(last_name(base)) for base in scope.bases)

    def _outermost(self, qualname: str) -> str | None:
        """The function around a nested one: the first part that is no class."""
        parts = qualname.split(".")
        for end in range(1, len(parts) + 1):
            outer = ".".join(parts[:end])
            if outer in self._functions:
                return outer
        return None

    def _fixture_name(self, scope: Scope) -> str | None:
        for decorator in self._decorators(scope):
            call = self._called(decorator)
            if last_name(decorator if call is None else call.callee).endswith("fixture"):
                named = dict(call.keywords).get("name") if call is not None else None
                return str(named[1]) if named is not None and _is_text(named) else scope.name
        return None

    def _uses(self, scope: Scope, fixture: str) -> bool:
        calls = filter(None, map(self._called, self._decorators(scope)))
        return any(
            last_name(call.callee) == "usefixtures" and [TEXT, fixture] in map(_listed, call.args)
            for call in calls
        )

    def _decorators(self, scope: Scope) -> list[Any]:
        """Their terms."""
        return [self._lowered.calls[number].callee for number in scope.decorators]

    def _called(self, term: Any) -> Call | None:
        return self._lowered.calls[term] if isinstance(term, int) else None

    def _all_mentions(self) -> dict[str, set[str]]:
        """Name → qualnames of the nodes that mention it; a decorator counts for what it decorates
        too."""
        lowered = self._lowered
        found: dict[str, set[str]] = {}
        owners = [scope.qualname for scope in lowered.scopes]

        def note(scope: int, terms: Iterable[Any]) -> None:
            for name in self._names(terms):
                found.setdefault(name, set()).add(owners[scope])

        for call in lowered.calls:
            note(call.scope, (call.callee, *call.args, *(value for _, value in call.keywords)))
        for store in lowered.stores:
            note(store.scope, (store.base, store.term))
        for fill in lowered.fills:
            note(fill.scope, (fill.base, fill.term))
        for container in lowered.containers:
            note(container.scope, container.items)
        for number, scope in enumerate(lowered.scopes):
            bound = (_value(bind) for binds in scope.binds.values() for bind in binds)
            note(number, (*bound, *(term for _, term in scope.results)))
            note(number, self._decorators(scope))
        return found

    def _names(self, terms: Iterable[Any]) -> Iterator[str]:
        """Plain names in terms; through the arguments of calls and the items of containers."""
        waiting = list(terms)
        seen: set[tuple[str, int]] = set()
        while waiting:
            term = waiting.pop()
            if isinstance(term, str):
                yield term
            elif isinstance(term, int):
                waiting += self._inside(("call", term), seen)
            elif isinstance(term, Sequence) and term and term[0] == CONTAINER:
                waiting += self._inside(("container", term[1]), seen)
            elif isinstance(term, Sequence) and term and term[0] in _ONE:
                waiting.append(term[1])
            elif isinstance(term, Sequence) and term and term[0] == EITHER:
                waiting += term[1:]

    def _inside(self, what: tuple[str, int], seen: set[tuple[str, int]]) -> list[Any]:
        if what in seen:
            return []
        seen.add(what)
        if what[0] == "container":
            return list(self._lowered.containers[what[1]].items)
        call = self._lowered.calls[what[1]]
        return [call.callee, *call.args, *(value for _, value in call.keywords)]


def _value(bind: Bind) -> Any:
    """The term of the value that a name gets; null where no term says it."""
    if bind.kind == ANNOTATED:
        return bind.extra
    return bind.term if bind.kind in (VALUE, NARROWED) else None


def last_name(term: Any) -> str:
    """The name that a term ends with: `fixture` of `pytest.fixture`."""
    if isinstance(term, str):
        return term
    is_attribute = isinstance(term, Sequence) and len(term) > 2 and term[0] == ATTRIBUTE
    return str(term[2]) if is_attribute else ""


def _is_text(term: Any) -> bool:
    return isinstance(term, Sequence) and len(term) > 1 and term[0] == TEXT


def _listed(term: Any) -> Any:
    """As it compares, whether it was decoded or just made."""
    return list(term) if isinstance(term, Sequence) and not isinstance(term, str) else term
