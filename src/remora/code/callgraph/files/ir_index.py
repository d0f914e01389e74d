"""The IR of one file, with lookup tables that are built on first use."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from remora.code.callgraph.files.dataflow import NameFlows
from remora.code.callgraph.files.reaching_definitions import ReachingDefinitions
from remora.code.ir import model as ir
from remora.code.ir.model import Binding, Call, LoweredFile, Scope, has_tag, unqualified_name

_MAX_DEPTH = 40
PARAMETER = -1  # used instead of the index of a binding: the parameter itself

_CLASS_METHODS = frozenset(("__new__", "__init_subclass__", "__class_getitem__"))
_NOT_IMPLEMENTED = frozenset(("NotImplementedError", "NotImplemented"))


class VisibleBinding(NamedTuple):
    """A binding that `name` may refer to.

    `bind` is an index into the bindings of `name` in `scope`, or PARAMETER.
    """

    scope: int
    name: str
    bind: int


class IndexedFile:
    def __init__(self, lowered: LoweredFile) -> None:
        self.path = lowered.path
        self.lowered = lowered
        self.scopes: Sequence[Scope] = lowered.scopes
        self.weight = 20 + len(lowered.calls) + len(lowered.reads) + 3 * len(lowered.scopes)
        """Estimated number of records in the indexes of the file. Each takes about 1 KB."""
        self._definitions = ReachingDefinitions(lowered)
        self._lookups: dict[tuple[int, str, int], tuple[VisibleBinding, ...]] = {}

    @cached_property
    def nodes(self) -> dict[str, int]:
        """Maps the qualname of the module and of each class and function to its scope number."""
        return {
            scope.qualname: number
            for number, scope in enumerate(self.scopes)
            if scope.kind in {ir.MODULE_SCOPE, ir.CLASS_SCOPE, ir.FUNCTION_SCOPE} and scope.name
        }

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.lowered.names)

    def is_module_level(self, number: int) -> bool:
        """Return True for the module, its parent (-1), and each class outside functions."""
        return number < 0 or number in self._module_level_scopes

    @cached_property
    def _module_level_scopes(self) -> frozenset[int]:
        found = {-1}
        for number, scope in enumerate(self.scopes):  # a parent precedes its children
            if scope.parent in found and scope.kind in {ir.MODULE_SCOPE, ir.CLASS_SCOPE}:
                found.add(number)
        return frozenset(found)

    def is_local(self, number: int) -> bool:
        """Return True if a definition is inside a function, so only this file sees its name."""
        parent = self.scopes[number].parent
        return parent >= 0 and self.scopes[parent].kind not in {ir.MODULE_SCOPE, ir.CLASS_SCOPE}

    @cached_property
    def classes(self) -> list[int]:
        numbers = self.nodes.values()
        return [number for number in numbers if self.scopes[number].kind == ir.CLASS_SCOPE]

    def is_stub(self, number: int) -> bool:
        """Return True if a function is empty or only raises NotImplementedError."""
        scope = self.scopes[number]
        if scope.results or scope.yields or scope.binds:
            return False
        calls, reads, stores = self.sites_by_owner.get(scope.qualname, ([], [], []))
        raised = all(
            self.term_name(self.lowered.calls[n].callee) in _NOT_IMPLEMENTED for n in calls
        )
        return raised and not reads and not stores

    def decorator_names(self, number: int) -> set[str]:
        """Return the unqualified names of the decorators of a definition."""
        calls = self.lowered.calls
        return {self.term_name(calls[c].callee) for c in self.scopes[number].decorators}

    @cached_property
    def flows(self) -> NameFlows:
        """Dataflow between the names in the file."""
        return NameFlows(self.lowered)

    @cached_property
    def reads_by_name(self) -> dict[str, list[int]]:
        """Maps each attribute name to the numbers of its reads."""
        found: dict[str, list[int]] = {}
        for number, read in enumerate(self.lowered.reads):
            found.setdefault(read.term[2], []).append(number)
        return found

    @cached_property
    def stores_by_name(self) -> dict[str, list[int]]:
        """Maps each attribute name to the numbers of its stores."""
        found: dict[str, list[int]] = {}
        for number, store in enumerate(self.lowered.stores):
            found.setdefault(store.name, []).append(number)
        return found

    @cached_property
    def self_stores(self) -> dict[tuple[int, str], list[ir.AttributeWrite]]:
        """Maps (class, attribute) to the assignments to `self.attribute` in the class's methods."""
        found: dict[tuple[int, str], list[ir.AttributeWrite]] = {}
        for store in self.lowered.stores:
            if (owner := self.class_of_self(store.scope, store.base)) is not None:
                found.setdefault((owner, store.name), []).append(store)
        return found

    @cached_property
    def attribute_calls(self) -> frozenset[tuple[int, str]]:
        """Each scope that calls an attribute, with the attribute's name."""
        calls = (call for call in self.lowered.calls if has_tag(call.callee, ir.ATTRIBUTE))
        return frozenset((call.scope, call.callee[2]) for call in calls)

    @cached_property
    def fills_by_variable(self) -> dict[tuple[int, str], list[ir.ContainerWrite]]:
        """Maps each variable or attribute to the writes to its items.

        The key is (scope, name) for a variable, and (class, name) for an attribute.
        """
        found: dict[tuple[int, str], list[ir.ContainerWrite]] = {}
        for fill in self.lowered.fills:
            if (variable := self._variable(fill.scope, fill.at, fill.base)) is not None:
                found.setdefault(variable, []).append(fill)
        return found

    @cached_property
    def variables_by_container(self) -> dict[tuple[bool, int], list[tuple[int, str]]]:
        """Maps each container and each call result to the variables that hold it.

        The key is (True, container number) or (False, call number).
        """
        found: dict[tuple[bool, int], list[tuple[int, str]]] = {}
        for number, scope in enumerate(self.scopes):
            for name, binds in scope.binds.items():
                for bind in binds:
                    for term in (bind.term, bind.extra):
                        _add_variable(found, term, (number, name))
        for (owner, name), stores in self.self_stores.items():
            for store in stores:
                _add_variable(found, store.term, (owner, name))
        return found

    @property
    def sites(self) -> tuple[Sequence[Call | ir.AttributeRead | ir.AttributeWrite], ...]:
        """The calls, the reads and the stores of the file."""
        return self.lowered.calls, self.lowered.reads, self.lowered.stores

    @cached_property
    def sites_by_owner(self) -> dict[str, tuple[list[int], list[int], list[int]]]:
        """Maps the qualname of each node to the numbers of its calls, reads and stores."""
        found: dict[str, tuple[list[int], list[int], list[int]]] = {}
        for kind, sites in enumerate(self.sites):
            for number, site in enumerate(sites):
                owner = self.scopes[site.scope].qualname
                found.setdefault(owner, ([], [], []))[kind].append(number)
        return found

    @cached_property
    def aliases(self) -> dict[str, set[str]]:
        """Maps each imported name to the other names under which this file imports it."""
        found: dict[str, set[str]] = {}
        for scope in self.scopes:
            for name, binds in scope.binds.items():
                for bind in binds:
                    if isinstance(bind.extra, str) and bind.extra != name:
                        found.setdefault(bind.extra, set()).add(name)
        return found

    @cached_property
    def lazy_names(self) -> dict[str, list[tuple[str, str]]]:
        """Maps each name to the (module, name) from which a module's `__getattr__` may load it.

        Tables: `{"A": "pkg.a"}`, `{"A": ("pkg.a", "name")}`, `{"pkg.a": ["A"]}`, `{"A": "pkg.a.A"}`.
        """
        found = defaultdict[str, list[tuple[str, str]]](list)
        containers = self.lowered.containers if "__getattr__" in self.scopes[0].binds else ()
        for table in (table for table in containers if table.scope == 0):
            for term, key in zip(table.items, table.keys or (), strict=False):
                row = containers[term[1]].items if has_tag(term, ir.CONTAINER) else [term]
                texts = [item[1] for item in row if has_tag(item, ir.TEXT)]
                for text in texts if isinstance(key, str) else ():
                    found[text].append((key, text))
                    whole = text.rpartition(".")[::2]
                    found[key] += [(texts[0], (*texts[1:], key)[0]), whole]
        return found

    def term_name(self, term: Any) -> str:
        """Return `b` for `a.b`, `a.b[…]` and `a.b(…)`, or "" if the term has no name."""
        for _ in range(_MAX_DEPTH):
            if isinstance(term, int):
                term = self.lowered.calls[term].callee
            elif isinstance(term, list | tuple) and term[0] in {ir.ITEM, ir.SLICE}:
                term = term[1]
            else:
                break
        return unqualified_name(term)

    def owner_class(self, number: int) -> int | None:
        """Return the class whose body contains a definition directly, or None."""
        parent = self.scopes[number].parent
        return parent if parent >= 0 and self.scopes[parent].kind == ir.CLASS_SCOPE else None

    def takes_class(self, number: int) -> bool:
        """Return True if the first parameter of a method is the class."""
        is_class_method = "classmethod" in self.decorator_names(number)
        return is_class_method or self.scopes[number].name in _CLASS_METHODS

    def enclosing_method(self, scope: int) -> int | None:
        """Return `scope` if it is a method, otherwise its nearest enclosing method or None."""
        while scope > 0:
            if self.scopes[scope].kind == ir.FUNCTION_SCOPE and self.owner_class(scope) is not None:
                return scope
            scope = self.scopes[scope].parent
        return None

    def class_of_self(self, scope: int, base: Any) -> int | None:
        """Return the enclosing method's class if `base` is its first parameter, or None."""
        if not isinstance(base, str):
            return None
        if (method := self.enclosing_method(scope)) is None:
            return None
        params = self.scopes[method].params
        return self.scopes[method].parent if params and params[0].name == base else None

    def is_annotated_parameter(self, scope: int, base: Any, at: int) -> bool:
        """Return True if `base` may be an annotated parameter at statement `at`."""
        if not isinstance(base, str):
            return False
        scopes = [s.scope for s in self.lookup(scope, base, at) if s.bind == PARAMETER]
        params = [param for number in scopes for param in self.scopes[number].params]
        return any(p.name == base and p.annotation is not None for p in params)

    def _variable(self, scope: int, at: int, base: Any) -> tuple[int, str] | None:
        if has_tag(base, ir.NARROWED):
            base = base[1]
        if isinstance(base, str):
            bindings = self.lookup(scope, base, at)
            return (bindings[0].scope, base) if bindings else None
        if has_tag(base, ir.ATTRIBUTE):
            owner = self.class_of_self(scope, base[1])
            return None if owner is None else (owner, base[2])
        if (outer := self.outer_container(base)) is not None:
            return self._variable(scope, at, outer)
        return None

    def outer_container(self, base: Any) -> Any:
        """Return `x` for a container in a container, `x[…]` or `x.setdefault(…, [])`, or None."""
        if isinstance(base, int):
            callee: Any = self.lowered.calls[base].callee
            is_item = has_tag(callee, ir.ATTRIBUTE) and callee[2] in {"setdefault", "get"}
            return callee[1] if is_item else None
        return base[1] if has_tag(base, ir.ITEM) else None

    def lookup(self, scope: int, name: str, at: int) -> tuple[VisibleBinding, ...]:
        """Return the bindings in this file that `name` may refer to in `scope`, at statement `at`.

        The result is empty if the file does not bind the name.
        """
        key = (scope, name, at)
        if (found := self._lookups.get(key)) is None:
            found = self._lookups[key] = self._find(scope, name, at)
        return found

    def _find(self, start: int, name: str, at: int) -> tuple[VisibleBinding, ...]:
        number, direct = start, True
        while number >= 0:
            scope = self.scopes[number]
            visible = number == start or scope.kind != ir.CLASS_SCOPE
            if visible and name not in scope.outer:
                found = self._find_in_scope(number, name, at, direct=direct)
                if found:
                    return found
            if scope.kind in {ir.FUNCTION_SCOPE, ir.LAMBDA_SCOPE}:
                direct, at = False, scope.at
            elif scope.kind == ir.CLASS_SCOPE:
                at = scope.at
            number = scope.parent
        return ()

    def _find_in_scope(
        self, number: int, name: str, at: int, *, direct: bool
    ) -> tuple[VisibleBinding, ...]:
        scope = self.scopes[number]
        binds = scope.binds.get(name, ())
        is_parameter = any(param.name == name for param in scope.params)
        if not binds:
            return (VisibleBinding(number, name, PARAMETER),) if is_parameter else ()
        indexes, sure = self._indexes(number, binds, at, direct=direct)
        found = [VisibleBinding(number, name, index) for index in indexes]
        if is_parameter and not sure:
            found.append(VisibleBinding(number, name, PARAMETER))
        return tuple(found)

    def _indexes(
        self, number: int, binds: Sequence[Binding], at: int, *, direct: bool
    ) -> tuple[list[int], bool]:
        scope = self.scopes[number]
        all_indexes = list(range(len(binds)))
        if scope.kind == ir.COMPREHENSION_SCOPE:
            return all_indexes, True
        if not direct and scope.kind == ir.MODULE_SCOPE:
            return self.at_end(binds, number), True
        indexes, sure = self._definitions.at_statement(binds, number, at)
        if not direct:  # a function may run after later bindings
            later = [index for index in all_indexes if binds[index].at >= at]
            return sorted({*indexes, *later}), sure
        if not indexes and scope.kind != ir.CLASS_SCOPE and not scope.params:
            return all_indexes, False
        return indexes, sure

    def at_end(self, binds: Sequence[Binding], number: int) -> list[int]:
        """Return the indexes of the bindings that may be in effect at the end of the scope."""
        if len(binds) == 1:
            return [0]
        return self._definitions.at_end(binds, number, self.scopes[number].at)

    def exported(self, number: int, name: str) -> tuple[VisibleBinding, ...]:
        """Return the bindings of `name` at the end of a module or class body."""
        if not (binds := self.scopes[number].binds.get(name)):
            return ()
        return tuple(VisibleBinding(number, name, index) for index in self.at_end(binds, number))

    def definition(self, binding: VisibleBinding) -> int | None:
        """Return the scope of the function or class that the binding defines, or None."""
        if binding.bind == PARAMETER:
            return None
        bind = self.scopes[binding.scope].binds[binding.name][binding.bind]
        return int(bind.term) if bind.kind == ir.DEFINITION else None


def _add_variable(
    found: dict[tuple[bool, int], list[tuple[int, str]]], term: Any, variable: tuple[int, str]
) -> None:
    if term.__class__ is int:
        found.setdefault((False, term), []).append(variable)
    elif isinstance(term, list | tuple) and term[:1] and term[0] == ir.CONTAINER:
        found.setdefault((True, term[1]), []).append(variable)
