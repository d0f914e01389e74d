"""Properties of a function, guessed from names and types.

A test run confirms or refutes each guess.
"""

import ast
import re
from collections.abc import Iterator, Sequence

import msgspec

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.cases.hypothesis_strategies import DOMAIN_COUNT, strategy_for
from remora.operations.test.cases.inverse_functions import inverse_functions, single_argument
from remora.operations.test.target_function import TargetFunction

_MOST_CLAIMS = 3
_NORMALIZING = re.compile(
    r"(?i)normali[sz]e|canonical|clean|strip|trim|sanitize|slug|dedent|collapse|squeeze|squash|sort"
    r"|uniq|dedup|simplify|lower|upper|flatten|reduce_"
)
"""Functions whose results do not change when they are passed back."""


class Property(msgspec.Struct, frozen=True, kw_only=True):
    """A property that a function may have.

    `ending` is the suffix of the test's name. `given` maps parameters to strategies. `claims`
    contains the expressions to assert.
    """

    ending: str
    given: dict[str, str]
    claims: tuple[str, ...]


def properties_of(subject: TargetFunction) -> list[list[Property]]:
    """Return a group for each property, with its variants from the widest to the narrowest domain.

    Only round trips have variants with narrower domains, because other properties could hold in a
    narrow domain by accident.
    """
    if "." in subject.qualname:
        return []
    found: dict[tuple[str, ...], list[Property]] = {}
    for number in range(DOMAIN_COUNT):
        for each in _properties_in_domain(subject, number):
            known = found.setdefault(each.claims, [])
            if each not in known:
                known.append(each)
    return list(found.values())


def best_property(
    candidates: Sequence[Property], killed: Sequence[frozenset[int]]
) -> tuple[Property, frozenset[int]] | None:
    """Return the property that kills the most mutants, and the indexes of these mutants.

    Other properties with the same domain are merged into this property if they kill additional
    mutants. Return None if no property kills a mutant.
    """
    pairs = [pair for pair in zip(candidates, killed, strict=True) if pair[1]]
    if not pairs:
        return None
    best, covered = max(pairs, key=lambda pair: len(pair[1]))
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


def _properties_in_domain(subject: TargetFunction, number: int) -> Iterator[Property]:
    function, module = subject.function, subject.source.tree
    given = _argument_domains(subject, function, number)
    for partner in inverse_functions(function.name, module):
        there, back = single_argument(function), single_argument(partner)
        if given and there and len(given) == 1 and back:
            claim = f"{partner.name}({function.name}({there})) == {there}"
            yield Property(ending="round_trip", given=given, claims=(claim,))
        other = _argument_domains(subject, partner, number)
        if other and back and len(other) == 1 and there:
            claim = f"{function.name}({partner.name}({back})) == {back}"
            yield Property(ending=f"undoes_{partner.name}", given=other, claims=(claim,))
    if given and number == 0 and _may_be_idempotent(function, next(iter(given))):
        rest = list(given)[1:]
        call = f"{function.name}({', '.join(given)})"
        again = f"{function.name}({', '.join((call, *rest))}) == {call}"
        yield Property(ending="is_idempotent", given=given, claims=(again,))


def _argument_domains(
    subject: TargetFunction, function: FunctionNode, number: int
) -> dict[str, str] | None:
    """Return a strategy for each required parameter, or for the first if all are optional.

    Return None if a strategy is unknown or there are no parameters.
    """
    args = function.args
    if args.vararg is not None or None in args.kw_defaults:
        return None
    positional = [*args.posonlyargs, *args.args]
    required = positional[: len(positional) - len(args.defaults)] or positional[:1]
    found: dict[str, str] = {}
    for arg in required:
        text = strategy_for(msgspec.structs.replace(subject, function=function), arg, number)
        if text is None or arg.arg in (function.name, "st"):
            return None
        found[arg.arg] = text
    return found or None


def _may_be_idempotent(function: FunctionNode, first: str) -> bool:
    """Return True if the result can be passed back to the function, whose name says normalizing."""
    arg = next((one for one in function.args.args if one.arg == first), None)
    taken = ast.unparse(arg.annotation) if arg is not None and arg.annotation else ""
    returned = ast.unparse(function.returns) if function.returns else ""
    if not _NORMALIZING.search(function.name) or returned == "bool" or _returns_truth(function):
        return False
    return not taken or not returned or taken == returned


def _returns_truth(function: FunctionNode) -> bool:
    values = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
    return all(
        isinstance(value, ast.Compare)
        or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
        or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))
        for value in values
    )
