"""By which names a function may be called: its own, and those of all that carries it about."""

from collections import deque
from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    FUNCTION,
    INSTANCE,
    OWN_CLASS,
    PARTIAL,
    SELF,
    Value,
)
from remora.code.callgraph.callers.caller_filter import Wanted
from remora.code.callgraph.callers.entry_names import (
    CONSTRUCTORS,
    Name,
    family,
    first_names,
    is_special,
    names_of_class,
)
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.answer_inputs import CARRIERS, bit
from remora.code.callgraph.files.dataflow import MOST_RESULTS, RESULT, Flow
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.names.call_targets import CALLING, LEVEL
from remora.code.callgraph.names.search_scope import Reach
from remora.code.callgraph.rules.class_attributes import GETTERS
from remora.code.callgraph.rules.hierarchy import is_dataclass
from remora.code.ir.model import CLASS_SCOPE, KWARGS, VARARGS, unqualified_name
from remora.ids import node_key

CALL, READ, STORE = range(3)
Site = tuple[str, int, int]
_MOST_STEPS = 128
"""Places where a value may get another name that are looked at for one node."""
_MOST_REACHES = 256
"""Kept: each may hold the paths of hundreds of files."""
_TAKING = frozenset(map(unqualified_name, CALLING))


class Carriers:
    """Finds, for a node, every place in the code that may lead to it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._first_names: dict[tuple[str, int], tuple[dict[Name, None], int]] = {}
        self._names: dict[tuple[str, int], tuple[dict[Name, None], int]] = {}
        self._reaches: dict[tuple[str, int], Reach] = {}
        self._left = 0
        self.decisive: set[str] = set()
        """Keys of the nodes that some site was admitted for, or not, by other names than the first."""

    def sites(self, file: File, scope: int) -> list[Site]:
        """Calls, reads and stores written with one of the names that carry the node."""
        found: dict[Site, None] = {}
        if scope == 0:  # a module is not called
            return []
        reach = self._reach(file, scope)
        first = self._first_of(file, scope)
        for carrier in self.names(file, scope):
            own = carrier in first
            for path in (carrier.path,) if carrier.path else reach.calling(carrier.name, own=own):
                other = self._ctx.file(path)
                if other is not None:
                    found.update(dict.fromkeys(_written(other, carrier.name)))
        return sorted(found)  # file by file

    def admits(self, file: File, scope: int, site: Site) -> bool:
        """Whether `site` is one of the node's `sites`."""
        other = self._ctx.file(site[0])
        written = _names_at(other, site) if other is not None else ()
        reach = self._reach(file, scope)
        first = self._first_of(file, scope)
        if self._among(reach, first, first, (site[0], written)):
            return True
        names = self._names_apart(file, scope)
        return self._among(reach, names, first, (site[0], written))

    def _names_apart(self, file: File, scope: int) -> dict[Name, None]:
        """The names, noted as one input: what is called everywhere is found by looking everywhere,
        and seldom becomes another set of names by that."""
        key = node_key(file.path, file.scopes[scope].qualname)
        outer = self._ctx.inputs
        found = self.names(file, scope)
        self._ctx.inputs = outer | bit(CARRIERS, key)
        self.decisive.add(key)
        return found

    def told(self, file: File, scope: int) -> bytes:
        """The same for the same names, also in another process."""
        names = sorted(self.names(file, scope))
        return blake2b(repr([tuple(name) for name in names]).encode(), digest_size=12).digest()

    def _among(
        self,
        reach: Reach,
        names: Container[Name],
        first: Container[Name],
        at: tuple[str, Iterable[str]],
    ) -> bool:
        path, written = at
        for name in written:
            if Name(name, path) in names:
                return True
            wide = Name(name, "")
            if wide in names and reach.is_calling(path, name, own=wide in first):
                return True
        return False

    def names(self, file: File, scope: int) -> dict[Name, None]:
        """All of them, the first ones first; of what is handed on very often only the nearest."""
        place = (file.path, scope)
        return self._ctx.remembered(self._names, place, lambda: self._all_names(file, scope))

    def _all_names(self, file: File, scope: int) -> dict[Name, None]:
        found = dict(self._first_of(file, scope))
        if not _is_handed_on(file, scope):
            return found
        wanted = self._wanted(file, scope)
        reach = self._reach(file, scope)
        waiting = deque(found)
        self._left = _MOST_STEPS
        while waiting:
            for further in self._carried(waiting.popleft(), wanted, reach, found):
                if further.name.count(RESULT) <= MOST_RESULTS and further not in found:
                    found[further] = None
                    waiting.append(further)
        return found

    def _first_of(self, file: File, scope: int) -> dict[Name, None]:
        def find() -> dict[Name, None]:
            return dict.fromkeys(first_names(self._ctx, file, scope))

        return self._ctx.remembered(self._first_names, (file.path, scope), find)

    def _reach(self, file: File, scope: int) -> Reach:
        place = (file.path, scope)
        reach = self._reaches.get(place)
        if reach is None:
            if len(self._reaches) >= _MOST_REACHES:
                self._reaches.clear()
            reach = self._reaches[place] = Reach(self._ctx, file, scope)
        return reach

    def _wanted(self, file: File, scope: int) -> Wanted:
        """What a value must be to lead to the node."""
        found = file.scopes[scope]
        in_class = found.parent >= 0 and file.scopes[found.parent].kind == CLASS_SCOPE
        if found.kind == CLASS_SCOPE or (in_class and found.name in CONSTRUCTORS):
            owner = scope if found.kind == CLASS_SCOPE else found.parent
            where = family(self._ctx, file, owner) | {(file.path, scope)}
            return Wanted(self._ctx, where, (CLASS, OWN_CLASS, FUNCTION))
        if in_class and found.name == "__call__":
            where = family(self._ctx, file, found.parent) | {(file.path, scope)}
            return Wanted(self._ctx, where, (INSTANCE, SELF, FUNCTION))
        return Wanted(self._ctx, {(file.path, scope)}, (FUNCTION,))

    def _carried(
        self, carrier: Name, wanted: Wanted, reach: Reach, known: Container[Name]
    ) -> Iterator[Name]:
        """New names for the same value; also for what calls give, if the called has one."""
        plain, *rest = carrier.name.split(RESULT)
        for path in (carrier.path,) if carrier.path else reach.carrying(carrier.name):
            file = self._ctx.file(path)
            if file is None:
                continue
            for depth in range(len(rest) + 1):
                head = plain + RESULT * (len(rest) - depth)
                for place, flow in self._flows(file, head):
                    name = Name(flow.target + RESULT * depth, place if flow.local else "")
                    new = name not in known and Name(name.name, "") not in known
                    if new and self._steps_on() and wanted.proved(path, flow, depth):
                        yield name
                        yield from self._called_instances(file, name)

    def _steps_on(self) -> bool:
        self._left -= 1
        return self._left >= 0

    def _called_instances(self, file: File, name: Name) -> Iterator[Name]:
        """What is `__call__` of a class is what its instances are when they are called."""
        if not name.name.startswith("__call__"):
            return
        tail = name.name.removeprefix("__call__")
        for number in file.classes:
            if "__call__" in file.scopes[number].binds:
                for carrier in names_of_class(self._ctx, file, number, RESULT):
                    yield Name(carrier.name + tail, carrier.path)

    def _flows(self, file: File, name: str) -> Iterator[tuple[str, Flow]]:
        """Where the file gives the value another name, and the file that can see that."""
        for flow in file.flows.targets.get(name, ()):
            yield file.path, flow
        for number in file.flows.passed.get(name, ()):
            if not self._steps_on():
                return
            call = file.lowered.calls[number]
            for place, param, term in self._parameters(file, number, name):
                yield place, Flow(param, call.scope, call.at, term, bool(place))

    def _parameters(self, file: File, number: int, name: str) -> Iterator[tuple[str, str, Any]]:
        """File and name of the parameters to which the call hands the value, and as what."""
        call = file.lowered.calls[number]
        given: list[tuple[int | str | None, Any]] = [*enumerate(call.args), *call.keywords]
        places = [(key, term) for key, term in given if name in file.flows.names(term)]
        for value, _ in self._ctx.solve(("callee", LEVEL, file.path, number)):
            if value[0] in {CLASS, OWN_CLASS}:
                yield from self._fields(value, places)
            for function, offset in self._called(value):
                other = self._ctx.head(function[1], function[2])
                if other is not None:
                    for key, term in places:
                        for param in _receiving(other, function[2], key, offset):
                            yield function[1], param, term

    def _fields(
        self, value: Value, places: list[tuple[int | str | None, Any]]
    ) -> Iterator[tuple[str, str, Any]]:
        file = self._ctx.around(value[1], value[2])
        if file is not None and is_dataclass(file, value[2]):
            for field in file.scopes[value[2]].binds:
                for key, term in places:
                    if not isinstance(key, str) or key == field:
                        yield "", field, term

    def _called(self, value: Value) -> Iterable[tuple[Value, int]]:
        if value[0] == FUNCTION:
            return [(value, 0)]
        if value[0] == BOUND:
            return [(value[1], 1)]
        if value[0] in {CLASS, OWN_CLASS}:
            made = self._ctx.solve(("class_attribute", 0, value[1], value[2], "__init__"))
            return [(v, 1) for v, _ in made if v[0] == FUNCTION]
        if value[0] == PARTIAL:
            held = self._ctx.solve(("argument", LEVEL, value[1], value[2], 0))
            return [(v, -1) for v, _ in held if v[0] == FUNCTION]
        return []


def _is_handed_on(file: File, scope: int) -> bool:
    """Whether the node can be a value: what a property gives is not itself."""
    found = file.scopes[scope]
    in_class = found.parent >= 0 and file.scopes[found.parent].kind == CLASS_SCOPE
    is_getter = in_class and bool(file.decorations(scope) & GETTERS)
    if is_special(file, scope):
        return bool(file.scopes[scope].decorators)
    return not is_getter


def _receiving(file: File, scope: int, key: int | str | None, offset: int) -> Iterator[str]:
    for index, param in enumerate(file.scopes[scope].params):
        loose = param.kind in {VARARGS, KWARGS} or offset < 0 or key is None
        if loose or key == param.name or (isinstance(key, int) and key == index - offset):
            yield param.name


def _written(file: File, name: str) -> Iterator[Site]:
    for number in file.flows.called.get(name, ()):
        yield file.path, CALL, number
    for number in file.flows.passed_to(_TAKING, name):
        yield file.path, CALL, number
    for number in file.reads_by_name.get(name, ()):
        yield file.path, READ, number
    for number in file.stores_by_name.get(name, ()):
        yield file.path, STORE, number


def _names_at(file: File, site: Site) -> set[str]:
    """The names by which a site is found: the converse of `_written`."""
    _, kind, number = site
    if kind == READ:
        return {file.lowered.reads[number].term[2]}
    if kind == STORE:
        return {file.lowered.stores[number].name}
    called = file.flows.names(file.lowered.calls[number].callee)
    return called | file.flows.given(number) if called & _TAKING else called
