"""Search for all names under which a node may be called, and for the sites that use them."""

from collections import deque
from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import Value
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.callers.caller_filter import TargetFilter
from remora.code.callgraph.callers.direct_names import (
    Name,
    class_family,
    direct_names,
    is_special_method,
)
from remora.code.callgraph.files.dataflow import MAX_RESULT_DEPTH, RESULT, NameFlow
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.incremental import ALIASES_OF, input_bit
from remora.code.callgraph.names.call_targets import CALLBACK_ARGUMENTS, CALLER_LEVELS
from remora.code.callgraph.names.name_candidates import CONSTRUCTORS
from remora.code.callgraph.names.search_scope import SearchScope
from remora.code.callgraph.rules.class_attributes import GETTERS
from remora.code.callgraph.rules.hierarchy import is_dataclass
from remora.code.ir.model import CLASS_SCOPE, KWARGS, VARARGS, unqualified_name
from remora.ids import node_key

CALL, READ, STORE = range(3)
Site = tuple[str, int, int]
_MAX_STEPS = 128  # maximum number of flows followed for one node
_MAX_SCOPES = 256  # cached search scopes; each may contain the paths of hundreds of files
_CALLBACK_TAKERS = frozenset(map(unqualified_name, CALLBACK_ARGUMENTS))


class AliasSearch:
    """Finds all calls, attribute reads and attribute assignments that may execute a node."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._direct_names: dict[tuple[str, int], tuple[dict[Name, None], int]] = {}
        self._names: dict[tuple[str, int], tuple[dict[Name, None], int]] = {}
        self._scopes: dict[tuple[str, int], SearchScope] = {}
        self._steps_left = 0
        self.alias_dependent: set[str] = set()
        """Keys of the nodes whose aliases were needed to decide if a site is a candidate."""

    def candidate_sites(self, file: IndexedFile, scope: int) -> list[Site]:
        """Return the calls, reads and stores that use one of the node's names."""
        found: dict[Site, None] = {}
        if scope == 0:  # a module cannot be called
            return []
        search = self.search_scope(file, scope)
        first = self._direct_names_of(file, scope)
        for alias in self.names(file, scope):
            own = alias in first
            for path in (alias.path,) if alias.path else search.caller_files(alias.name, own=own):
                if (other := self._ctx.file(path)) is not None:
                    found.update(dict.fromkeys(_sites_of_name(other, alias.name)))
        return sorted(found)  # sorting groups the sites by file

    def is_candidate(self, file: IndexedFile, scope: int, site: Site) -> bool:
        other = self._ctx.file(site[0])
        names = _names_of_site(other, site) if other is not None else ()
        search = self.search_scope(file, scope)
        first = self._direct_names_of(file, scope)
        if self._is_named(search, first, first, (site[0], names)):
            return True
        known_names = self._names_as_one_input(file, scope)
        return self._is_named(search, known_names, first, (site[0], names))

    def _names_as_one_input(self, file: IndexedFile, scope: int) -> dict[Name, None]:
        """Return the names of a node, and record them as a single input.

        The search may read the whole program, but its result rarely changes.
        """
        key = node_key(file.path, file.scopes[scope].qualname)
        outer = self._ctx.inputs
        found = self.names(file, scope)
        self._ctx.inputs = outer | input_bit(ALIASES_OF, key)
        self.alias_dependent.add(key)
        return found

    def digest(self, file: IndexedFile, scope: int) -> bytes:
        """Return a hash of the node's names. It is the same in every process."""
        names = sorted(self.names(file, scope))
        return blake2b(repr([tuple(name) for name in names]).encode(), digest_size=12).digest()

    def _is_named(
        self,
        search: SearchScope,
        names: Container[Name],
        first: Container[Name],
        at: tuple[str, Iterable[str]],
    ) -> bool:
        path, site_names = at
        for name in site_names:
            if Name(name, path) in names:
                return True
            wide = Name(name, "")
            if wide in names and search.is_caller_file(path, name, own=wide in first):
                return True
        return False

    def names(self, file: IndexedFile, scope: int) -> dict[Name, None]:
        """Return the names of a node, direct ones first, after at most `_MAX_STEPS` flows."""
        place = (file.path, scope)
        return self._ctx.memoize(self._names, place, lambda: self._all_names(file, scope))

    def _all_names(self, file: IndexedFile, scope: int) -> dict[Name, None]:
        found = dict(self._direct_names_of(file, scope))
        if not _is_passed_as_value(file, scope):
            return found
        accepted = self._target_filter(file, scope)
        search = self.search_scope(file, scope)
        pending = deque(found)
        self._steps_left = _MAX_STEPS
        while pending:
            for further in self._further_names(pending.popleft(), accepted, search, found):
                if further.name.count(RESULT) <= MAX_RESULT_DEPTH and further not in found:
                    found[further] = None
                    pending.append(further)
        return found

    def _direct_names_of(self, file: IndexedFile, scope: int) -> dict[Name, None]:
        def find() -> dict[Name, None]:
            return dict.fromkeys(direct_names(self._ctx, file, scope))

        return self._ctx.memoize(self._direct_names, (file.path, scope), find)

    def search_scope(self, file: IndexedFile, scope: int) -> SearchScope:
        """Return the files to search for a node."""
        key = (file.path, scope)
        if (search := self._scopes.get(key)) is None:
            if len(self._scopes) >= _MAX_SCOPES:
                self._scopes.clear()
            search = self._scopes[key] = SearchScope(self._ctx, file, scope)
        return search

    def _target_filter(self, file: IndexedFile, scope: int) -> TargetFilter:
        definition, owner = file.scopes[scope], file.owner_class(scope)
        accepted: tuple[str, ...] = (kinds.FUNCTION,)
        if definition.kind == CLASS_SCOPE:
            owner, accepted = scope, (kinds.CLASS, kinds.OWN_CLASS, kinds.FUNCTION)
        elif definition.name in CONSTRUCTORS:
            accepted = (kinds.CLASS, kinds.OWN_CLASS, kinds.FUNCTION)
        elif definition.name == "__call__":
            accepted = (kinds.INSTANCE, kinds.SELF, kinds.FUNCTION)
        else:
            owner = None
        family = set() if owner is None else class_family(self._ctx, file, owner)
        return TargetFilter(self._ctx, family | {(file.path, scope)}, accepted)

    def _further_names(
        self, alias: Name, accepted: TargetFilter, search: SearchScope, known: Container[Name]
    ) -> Iterator[Name]:
        """Yield names that may also hold the value of `alias`, except names in `known`."""
        plain, *rest = alias.name.split(RESULT)
        for path in (alias.path,) if alias.path else search.alias_files(alias.name):
            if (file := self._ctx.file(path)) is None:
                continue
            for depth in range(len(rest) + 1):
                head = plain + RESULT * (len(rest) - depth)
                for place, flow in self._flows(file, head):
                    name = Name(flow.target + RESULT * depth, place if flow.local else "")
                    new = name not in known and Name(name.name, "") not in known
                    if new and self._take_step() and accepted.accepts(path, flow, depth):
                        yield name

    def _take_step(self) -> bool:
        self._steps_left -= 1
        return self._steps_left >= 0

    def _flows(self, file: IndexedFile, name: str) -> Iterator[tuple[str, NameFlow]]:
        """Yield each flow of a name, and the path of the file that uses the flow's target.

        The path is empty if the target is a dataclass field, because any file may use the field.
        """
        for flow in file.flows.by_name.get(name, ()):
            yield file.path, flow
        for number in file.flows.calls_by_argument.get(name, ()):
            if not self._take_step():
                return
            call = file.lowered.calls[number]
            for place, param, term in self._argument_parameters(file, number, name):
                yield place, NameFlow(param, call.scope, call.at, term, bool(place))

    def _argument_parameters(
        self, file: IndexedFile, number: int, name: str
    ) -> Iterator[tuple[str, str, Any]]:
        """Yield (path, parameter, term) for each parameter to which a call passes `name`."""
        call = file.lowered.calls[number]
        arguments: list[tuple[int | str | None, Any]] = [*enumerate(call.args), *call.keywords]
        places = [(key, term) for key, term in arguments if name in file.flows.names_in(term)]
        for value, _ in self._ctx.solve(("callee", CALLER_LEVELS, file.path, number)):
            if value[0] in {kinds.CLASS, kinds.OWN_CLASS}:
                yield from self._dataclass_fields(value, places)
            for function, offset in self._called_functions(value):
                other = self._ctx.definition_file(function[1], function[2])
                if other is not None:
                    for key, term in places:
                        for param in _receiving_parameters(other, function[2], key, offset):
                            yield function[1], param, term

    def _dataclass_fields(
        self, value: Value, places: list[tuple[int | str | None, Any]]
    ) -> Iterator[tuple[str, str, Any]]:
        file = self._ctx.scope_file(value[1], value[2])
        if file is not None and is_dataclass(file, value[2]):
            for field in file.scopes[value[2]].binds:
                for key, term in places:
                    if not isinstance(key, str) or key == field:
                        yield "", field, term

    def _called_functions(self, value: Value) -> Iterable[tuple[Value, int]]:
        if value[0] == kinds.FUNCTION:
            return [(value, 0)]
        if value[0] == kinds.BOUND:
            return [(value[1], 1)]
        if value[0] in {kinds.CLASS, kinds.OWN_CLASS}:
            constructors = self._ctx.solve(("class_attribute", 0, value[1], value[2], "__init__"))
            return [(v, 1) for v, _ in constructors if v[0] == kinds.FUNCTION]
        if value[0] == kinds.PARTIAL:
            inner = self._ctx.solve(("argument", CALLER_LEVELS, value[1], value[2], 0))
            return [(v, -1) for v, _ in inner if v[0] == kinds.FUNCTION]
        return []


def _is_passed_as_value(file: IndexedFile, scope: int) -> bool:
    """Return True if the node may be passed as a value.

    This is impossible for a property getter.
    """
    if is_special_method(file, scope):
        return bool(file.scopes[scope].decorators)
    return file.owner_class(scope) is None or not file.decorator_names(scope) & GETTERS


def _receiving_parameters(
    file: IndexedFile, scope: int, key: int | str | None, offset: int
) -> Iterator[str]:
    for index, param in enumerate(file.scopes[scope].params):
        any_argument = param.kind in {VARARGS, KWARGS} or offset < 0 or key is None
        if any_argument or key == param.name or (isinstance(key, int) and key == index - offset):
            yield param.name


def _sites_of_name(file: IndexedFile, name: str) -> Iterator[Site]:
    for number in file.flows.calls_by_name.get(name, ()):
        yield file.path, CALL, number
    for number in file.flows.calls_passing(_CALLBACK_TAKERS, name):
        yield file.path, CALL, number
    for number in file.reads_by_name.get(name, ()):
        yield file.path, READ, number
    for number in file.stores_by_name.get(name, ()):
        yield file.path, STORE, number


def _names_of_site(file: IndexedFile, site: Site) -> set[str]:
    """Return the names under which `_sites_of_name` finds a site."""
    _, kind, number = site
    if kind == READ:
        return {file.lowered.reads[number].term[2]}
    if kind == STORE:
        return {file.lowered.stores[number].name}
    called = file.flows.names_in(file.lowered.calls[number].callee)
    return called | file.flows.argument_names(number) if called & _CALLBACK_TAKERS else called
