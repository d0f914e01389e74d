"""Properties of a function, guessed from names and types.

A test run confirms or refutes each guess.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.cases.arguments import literal_calls
from remora.operations.test.cases.hypothesis_strategies import (
    DOMAIN_COUNT,
    given_kinds,
    strategy_for,
)
from remora.operations.test.cases.inverse_functions import inverse_functions, single_argument
from remora.operations.test.cases.sample_values import last_name
from remora.operations.test.target_function import TargetFunction

_TYPE = "type"
_MOST_CLAIMS = 3
_SIZED = ("st.text", "st.binary", "st.lists")
_PLAIN = frozenset({"int", "str", "bytes", "float", "list", "dict", "tuple", "set", "bool"})


class Property(msgspec.Struct, frozen=True, kw_only=True):
    """A property that a function may have.

    `ending` is the suffix of the test's name. `given` maps parameters to strategies. `claims`
    contains the expressions to assert.
    """

    ending: str
    given: dict[str, str]
    claims: tuple[str, ...]


def properties_of(subject: TargetFunction, others: Iterable[ast.Module]) -> list[list[Property]]:
    """Return a group for each property, with its variants from the widest to the narrowest domain.

    Only round trips have variants with narrower domains, because other properties could hold in a
    narrow domain by accident.
    """
    if "." in subject.qualname:
        return []
    trees = [subject.source.tree, *others]
    found: dict[tuple[str, ...], list[Property]] = {}
    for number in range(DOMAIN_COUNT):
        for each in _properties_in_domain(subject, trees, number):
            known = found.setdefault(each.claims, [])
            if each not in known:
                known.append(each)
    return list(found.values())


def best_property(
    candidates: Sequence[Property], killed: Sequence[frozenset[int]]
) -> tuple[Property, frozenset[int]] | None:
    """Return the property that kills the most mutants, and the indexes of these mutants.

    Other properties with the same domain are merged into this property if they kill additional
    mutants. Return None if only type checks kill mutants.
    """
    pairs = [pair for pair in zip(candidates, killed, strict=True) if pair[1]]
    alone = [pair for pair in pairs if pair[0].ending != _TYPE]
    if not alone:
        return None
    best, covered = max(alone, key=lambda pair: len(pair[1]))
    for other, kills in sorted(pairs, key=lambda pair: -len(pair[1])):
        if other.given == best.given and kills - covered and len(best.claims) < _MOST_CLAIMS:
            best = msgspec.structs.replace(best, claims=(*best.claims, *other.claims))
            covered |= kills
    return best, covered


def is_known_property(holds: Property, groups: Sequence[Sequence[Property]]) -> bool:
    """Return True if the property consists only of properties in `groups`.

    Only known properties may be written to a test.
    """
    known = [one for group in groups for one in group if one.given == holds.given]
    claims = {claim for one in known for claim in one.claims}
    endings = {one.ending for one in known}
    return bool(holds.claims) and claims.issuperset(holds.claims) and holds.ending in endings


def _properties_in_domain(
    subject: TargetFunction, trees: list[ast.Module], number: int
) -> Iterator[Property]:
    function, module = subject.function, subject.source.tree
    given = _argument_domains(subject, function, trees, number)
    for partner in inverse_functions(function.name, module):
        there, back = single_argument(function), single_argument(partner)
        if given and there and len(given) == 1 and back:
            claim = f"{partner.name}({function.name}({there})) == {there}"
            yield Property(ending="round_trip", given=given, claims=(claim,))
        other = _argument_domains(subject, partner, trees, number)
        if other and back and len(other) == 1 and there:
            claim = f"{function.name}({partner.name}({back})) == {back}"
            yield Property(ending=f"undoes_{partner.name}", given=other, claims=(claim,))
    if given and number == 0:
        yield from _single_function_properties(function, given)


def _single_function_properties(
    function: FunctionNode, given: dict[str, str]
) -> Iterator[Property]:
    first, *rest = given
    call = f"{function.name}({', '.join(given)})"
    returned, taken = _name_of(function.returns), given[first]
    if taken.startswith("st.lists") and returned in ("", "list", "List"):
        yield Property(ending="sorts", given=given, claims=(f"{call} == sorted({first})",))
    if _may_be_idempotent(function, first):
        again = f"{function.name}({', '.join((call, *rest))}) == {call}"
        yield Property(ending="is_idempotent", given=given, claims=(again,))
    if taken.startswith("st.lists") and returned in ("", "list", "List"):
        kept = f"sorted({call}) == sorted({first})"
        yield Property(ending="keeps_items", given=given, claims=(kept,))
        part = f"set({call}) <= set({first})"
        yield Property(ending="adds_no_items", given=given, claims=(part,))
    if taken.startswith(_SIZED) and returned in ("", "str", "bytes", "list", "List"):
        same = f"len({call}) == len({first})"
        yield Property(ending="keeps_length", given=given, claims=(same,))
    if returned in _PLAIN:
        kind = f"isinstance({call}, {returned})"
        yield Property(ending=_TYPE, given=given, claims=(kind,))


def _argument_domains(
    subject: TargetFunction, function: FunctionNode, trees: list[ast.Module], number: int
) -> dict[str, str] | None:
    """Return a strategy for each required parameter, or for the first if all are optional.

    Return None if a strategy is unknown or there are no parameters.
    """
    args = function.args
    if args.vararg is not None or None in args.kw_defaults:
        return None
    positional = [*args.posonlyargs, *args.args]
    required = positional[: len(positional) - len(args.defaults)] or positional[:1]
    kinds = given_kinds(literal_calls(function, trees))
    found: dict[str, str] = {}
    for place, arg in enumerate(required):
        seen = kinds[place] if place < len(kinds) else None
        text = strategy_for(msgspec.structs.replace(subject, function=function), arg, seen, number)
        if text is None or arg.arg in (function.name, "st"):
            return None
        found[arg.arg] = text
    return found or None


def _may_be_idempotent(function: FunctionNode, first: str) -> bool:
    """Return True if the annotations allow passing the result back to the function."""
    arg = next((one for one in function.args.args if one.arg == first), None)
    taken = ast.unparse(arg.annotation) if arg is not None and arg.annotation else ""
    returned = ast.unparse(function.returns) if function.returns else ""
    return not taken or not returned or taken == returned


def _name_of(annotation: ast.expr | None) -> str:
    if annotation is None:
        return ""
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return last_name(outer)
