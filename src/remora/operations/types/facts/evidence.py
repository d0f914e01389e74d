"""Facts about missing annotations: a source, such as `call`, and the type that it suggests."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.operations.types.facts.body_facts import FunctionBody
from remora.operations.types.facts.docstring_types import docstring_types
from remora.operations.types.facts.probes import CallSite, FileProbes, Instrumented
from remora.operations.types.facts.signatures import Callee, parse_callee
from remora.operations.types.source.project_index import Class, Function, Parameter, ProjectIndex
from remora.operations.types.source.slots import RETURN, is_static
from remora.operations.types.source.terms import (
    UNKNOWN,
    arguments_of,
    from_checker,
    head_of,
    is_known,
    union,
)
from remora.threads import raise_if_cancelled

_CONTAINERS = frozenset(("list", "dict", "tuple", "set", "frozenset", "deque", "defaultdict"))
SlotKey = tuple[str, str, int, str]
"""Path, qualified name and number of a function, and the name of the parameter or `return`."""
Observed = Mapping[SlotKey, Sequence[str]]
"""Types seen while the project ran, as text, such as `("int", "None")`."""


_ABSTRACT = {
    "BytesIO": "BinaryIO",
    "BufferedReader": "BinaryIO",
    "BufferedWriter": "BinaryIO",
    "BufferedRandom": "BinaryIO",
    "FileIO": "BinaryIO",
    "StringIO": "TextIO",
    "TextIOWrapper": "TextIO",
    "PosixPath": "Path",
    "WindowsPath": "Path",
}
"""What a parameter accepts of which a more special class is passed."""


class Evidence(NamedTuple):
    """A type that a source suggests for a slot.

    `places` is the number of places, and `share` the part of them that agree, from 0 to 1.
    """

    source: str
    term: str
    places: int = 1
    share: float = 1.0


def key_of(function: Function, name: str) -> SlotKey:
    return function.path, function.name, function.number, name


class Collector:
    """Collects the evidence for all missing annotations of a project."""

    def __init__(self, index: ProjectIndex) -> None:
        self._index = index
        self.evidence: dict[SlotKey, list[Evidence]] = defaultdict(list)
        self._passed: dict[SlotKey, list[str]] = defaultdict(list)
        self._named: dict[SlotKey, list[str]] = defaultdict(list)
        self._tested: dict[SlotKey, list[str]] = defaultdict(list)
        self._forwarded: dict[SlotKey, list[str]] = defaultdict(list)

    def add_probes(
        self, probes: FileProbes, copy: Instrumented, revealed: Mapping[tuple[str, int, int], str]
    ) -> None:
        """Add what the type checker reveals about a file."""
        for call in probes.calls:
            self._add_call(call, copy, revealed)
        for function, name, default in probes.defaults:
            term = from_checker(copy.revealed(default, revealed) or UNKNOWN)
            self._add(function, name, Evidence("default", term))
        for each in probes.inherited:
            callee = parse_callee(copy.revealed(each, revealed))
            if callee is not None:
                self._add_signature(each.function, callee)
        self._add_results(probes, copy, revealed)

    def finish(self, observed: Observed | None) -> dict[SlotKey, list[Evidence]]:
        """Add what follows from the source alone, and return the evidence for each slot."""
        for source, places in (
            ("call", self._passed),
            ("name", self._named),
            ("test_call", self._tested),
            ("forward", self._forwarded),
        ):
            for key, terms in places.items():
                abstract = [_ABSTRACT.get(each, each) for each in terms]
                self.evidence[key].append(_summary(source, abstract))
        for function in self._index.every_function():
            raise_if_cancelled()
            self._add_static(function)
        for key, seen in (observed or {}).items():
            terms = [from_checker(each) for each in seen]
            if key[-1] != RETURN:
                terms = [_ABSTRACT.get(each, each) for each in terms]
            self.evidence[key].append(Evidence("observed", _observed_term(terms), len(terms)))
        return self.evidence

    def _add(self, function: Function, name: str, evidence: Evidence) -> None:
        if evidence.term:
            self.evidence[key_of(function, name)].append(evidence)

    def _add_call(
        self, call: CallSite, copy: Instrumented, revealed: Mapping[tuple[str, int, int], str]
    ) -> None:
        shown = copy.revealed(call.node.func, revealed)
        callee = parse_callee(shown)
        target = self._target(call, callee)
        by_name = target is None and shown in ("", UNKNOWN)
        if by_name:
            target = self._only_named(call)
        places = self._named if by_name else self._passed
        if is_of_tests(copy.path):
            places = self._tested
        for argument in call.arguments:
            slot = _bound(target, argument.position, argument.keyword) if target else None
            if target is not None and slot is not None and not slot.term:
                term = from_checker(copy.revealed(argument.node, revealed) or UNKNOWN)
                places[key_of(target, slot.name)].append(term)
            if call.inside is not None and isinstance(argument.node, ast.Name):
                given = call.inside.parameter(argument.node.id)
                expected = _expected(target, callee, argument.position, argument.keyword)
                if given is not None and not given.term and expected:
                    self._forwarded[key_of(call.inside, given.name)].append(expected)

    def _target(self, call: CallSite, callee: Callee | None) -> Function | None:
        """Return the function of the project that a call calls, or None."""
        if callee is None:
            return None
        inside = call.inside.path if call.inside else ""
        if callee.owner:
            owner = self._receiver(call, callee)
            return self._index.method(owner, callee.name) if owner else None
        names = tuple(each.name.lstrip("*") for each in callee.parameters)
        found = [
            each
            for each in self._index.functions.get(callee.name, ())
            if names[-len(each.parameters) :] == tuple(one.name for one in each.parameters)
            or not each.parameters
        ]
        own = [each for each in found if each.path == inside]
        return own[0] if len(own) == 1 else found[0] if len(found) == 1 else None

    def _receiver(self, call: CallSite, callee: Callee) -> Class | None:
        if callee.owner == "Self" and call.inside is not None:
            return call.inside.owner
        return self._index.find_class(callee.owner, call.inside.path if call.inside else "")

    def _only_named(self, call: CallSite) -> Function | None:
        """Return the function that a call of an unknown receiver calls by its name, or None."""
        found = self._index.functions.get(call.name, ())
        if len(found) != 1 or not isinstance(call.node.func, ast.Attribute):
            return None
        return found[0] if found[0].owner is not None else None

    def _add_signature(self, function: Function, callee: Callee) -> None:
        """Add the annotations of an overridden method outside the project."""
        shown = callee.parameters
        if function.owner is not None and not is_static(function.node) and not callee.owner:
            shown = shown[1:]
        by_name = {each.name: each.term for each in shown}
        for position, each in enumerate(function.parameters):
            same_place = shown[position].term if position < len(shown) else ""
            term = by_name.get(each.name, same_place)
            if not each.term and is_known(term):
                self._add(function, each.name, Evidence("inherited", term))
        if not function.returns and is_known(callee.returns):
            self._add(function, RETURN, Evidence("inherited", callee.returns))

    def _add_results(
        self, probes: FileProbes, copy: Instrumented, revealed: Mapping[tuple[str, int, int], str]
    ) -> None:
        returned: dict[int, tuple[Function, list[str]]] = {}
        yielded: dict[int, tuple[Function, list[str]]] = {}
        for each in probes.exits:
            if each.inside.returns:
                continue
            kind = returned if isinstance(each.node, ast.Return) else yielded
            shown = "None" if each.value is None else copy.revealed(each.value, revealed)
            term = from_checker(shown or UNKNOWN)
            if isinstance(each.node, ast.YieldFrom):
                term = UNKNOWN
            kind.setdefault(id(each.inside), (each.inside, []))[1].append(term)
        for function, terms in yielded.values():
            returned.pop(id(function), None)
            item = _summary("yield", terms)
            name = (
                "AsyncIterator" if isinstance(function.node, ast.AsyncFunctionDef) else "Iterator"
            )
            self._add(function, RETURN, item._replace(term=f"{name}[{item.term}]"))
        for function, terms in returned.values():
            ends = ["None"] if FunctionBody(function).falls_through else []
            if not ends or {*terms} <= {"None"}:  # else mypy would miss a `return None`
                self._add(function, RETURN, _summary("returned", [*terms, *ends]))

    def _add_static(self, function: Function) -> None:
        body = FunctionBody(function)
        self._add_docstring(function, ast.get_docstring(function.node) or "")
        for each in function.parameters:
            if not each.term:
                for source, term in body.parameter_facts(each, self._index):
                    self._add(function, each.name, Evidence(source, term))
        if not function.returns:
            for source, term in body.result_facts():
                self._add(function, RETURN, Evidence(source, term))
        self._add_overridden(function)

    def _add_docstring(self, function: Function, docstring: str) -> None:
        """Add what a docstring names. That of a class may document the parameters of `__init__`."""
        types = docstring_types(docstring)
        if function.owner is not None and function.short == "__init__" and not docstring:
            docstring = ast.get_docstring(function.owner.node) or ""
            types = {k: term for k, term in docstring_types(docstring).items() if k != RETURN}
        for name, term in types.items():
            self._add(function, name, Evidence("docstring", term))

    def _add_overridden(self, function: Function) -> None:
        """Add annotations of the same method in ancestors and subclasses of the project."""
        if function.owner is None or function.short == "__init__":
            return
        above = [each.methods.get(function.short) for each in self._index.ancestors(function.owner)]
        below = [
            each.methods.get(function.short)
            for each in self._index.subclasses.get(function.owner.name, ())
        ]
        for source, methods in (("override", above), ("overridden", below)):
            for name, term in _first_terms(method for method in methods if method is not None):
                self._add(function, name, Evidence(source, term))


def _first_terms(methods: Iterable[Function]) -> Iterator[tuple[str, str]]:
    found: dict[str, str] = {}
    for method in methods:
        for name, term in method.terms():
            found.setdefault(name, term)
    yield from found.items()


def _observed_term(terms: Sequence[str]) -> str:
    """Return the union of run-time types. The arguments of empty containers are not known."""
    empty = {each for each in terms if arguments_of(each) in ([], ["()"])}
    full = {head_of(each) for each in terms if each not in empty}
    return union(
        f"{head_of(term)}[{UNKNOWN}]" if term in empty and head_of(term) in _CONTAINERS else term
        for term in terms
        if not (term in empty and head_of(term) in full)
        and not (term == "int" and "float" in terms)
    )


def _summary(source: str, terms: list[str]) -> Evidence:
    """Return the union of the known types, with the share of places whose type is known."""
    known = [term for term in terms if is_known(term)]
    total = union(known) if known else UNKNOWN
    partly = [term for term in terms if term not in known and term != UNKNOWN]
    if not known and partly:
        total = Counter(partly).most_common(1)[0][0]
    return Evidence(source, total, len(terms), len(known) / len(terms))


def _bound(function: Function, position: int, keyword: str) -> Parameter | None:
    """Return the parameter to which an argument is bound."""
    if keyword:
        found = function.parameter(keyword)
        extra = [each for each in function.parameters if each.kind == "kwargs"]
        return found or (extra[0] if extra else None)
    positional = function.node.args
    count = len(positional.posonlyargs) + len(positional.args)
    is_method = function.owner is not None and not is_static(function.node)
    plain = function.parameters[: count - is_method]
    if position < len(plain):
        return plain[position]
    extra = [each for each in function.parameters if each.kind == "args"]
    return extra[0] if extra else None


def _expected(target: Function | None, callee: Callee | None, position: int, keyword: str) -> str:
    """Return the annotated type of the parameter that receives an argument."""
    if target is not None:
        found = _bound(target, position, keyword)
        return found.term if found is not None and found.kind == "parameter" else ""
    if callee is None or callee.name == "__init__":
        return ""
    named = {each.name: each.term for each in callee.parameters}
    plain = [each for each in callee.parameters if not each.name.startswith("*")]
    if keyword:
        term = named.get(keyword, "")
    else:
        term = plain[position].term if position < len(plain) else ""
    return term if is_known(term) else ""
