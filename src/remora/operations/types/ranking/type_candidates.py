"""Candidate types for a missing annotation, ranked by a linear model of their features."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from remora.operations.types.facts.body_facts import is_none
from remora.operations.types.facts.evidence import Evidence
from remora.operations.types.ranking.refusals import Missing, Refusal, refusal_of
from remora.operations.types.ranking.siblings import Siblings, bucket
from remora.operations.types.source.project_index import Function, Parameter
from remora.operations.types.source.slots import RETURN, Kind
from remora.operations.types.source.terms import (
    UNKNOWN,
    arguments_of,
    head_of,
    is_known,
    members_of,
    same,
    union,
    without_none,
)

_PLAIN = ("None", "bool", "int", "str", "float", "bytes", "Any", "object", "Self", "NoReturn")
_CONTAINERS = ("list", "dict", "tuple", "set", "frozenset", "deque", "defaultdict")
_ABSTRACT = ("Iterable", "Iterator", "Sequence", "Mapping", "Generator", "MutableMapping")
_GENERIC = frozenset(
    (*_CONTAINERS, *_ABSTRACT, "type", "Callable", "Awaitable", "Match", "Pattern")
)
_INFERRED = frozenset(("call", "test_call", "forward", "returned", "yield"))
"""Sources that are types of values, as the type checker infers them."""
_MAX_MEMBERS = 4


class Candidate(NamedTuple):
    """A canonical type with its features, by name.

    `is_inferred` is true if the type checker infers the type from the values.
    """

    term: str
    features: Mapping[str, float]
    is_inferred: bool = False


def candidates_for(
    function: Function,
    name: str,
    evidence: Sequence[Evidence],
    siblings: Siblings,
    *,
    is_dense: bool = False,
) -> tuple[list[Candidate], dict[str, Refusal]]:
    """Return the candidates for a slot, and the types that a rule refuses, with the rule.

    `is_dense` is that of `Missing`.
    """
    parameter = function.parameter(name) if name != RETURN else None
    every = [
        *evidence,
        *siblings.evidence(function, name),
        *siblings.priors(function, name),
    ]
    terms = dict.fromkeys(_terms(every, parameter))
    if any(each.source == "may_be_none" for each in evidence):
        terms |= dict.fromkeys(union([term, "None"]) for term in list(terms))
    missing = Missing(function, parameter, every, siblings.index, is_dense)
    rules = {term: refusal_of(missing, term) for term in terms if _is_complete(term)}
    usable = [
        Candidate(
            term,
            _features(term, parameter, every, siblings),
            any(
                e.source in _INFERRED and same(_fitting(e.term, parameter), term) for e in evidence
            ),
        )
        for term, rule in rules.items()
        if rule is None
    ]
    return usable, {term: rule for term, rule in rules.items() if rule is not None}


def _terms(evidence: Iterable[Evidence], parameter: Parameter | None) -> Iterable[str]:
    seen: dict[str, None] = {}
    for each in evidence:
        if is_known(each.term) and each.source not in ("is_none", "may_be_none"):
            seen[_fitting(each.term, parameter)] = None
            if each.source == "isinstance":
                seen.update(dict.fromkeys(members_of(each.term)))
    return seen


def _fitting(term: str, parameter: Parameter | None) -> str:
    """Add `None` to a type if the parameter's default is None."""
    return union([term, "None"]) if parameter and is_none(parameter.default) else term


def _is_complete(term: str) -> bool:
    """Return True if a type can be written without missing arguments, and is short enough."""
    members = members_of(term)
    if len(members) > _MAX_MEMBERS or members == ("...",):
        return False
    return not any(head_of(each) in _GENERIC and not arguments_of(each) for each in members)


def _features(
    term: str,
    parameter: Parameter | None,
    evidence: Sequence[Evidence],
    siblings: Siblings,
) -> dict[str, float]:
    """Return the features of a candidate: which sources agree with it, and what kind it is."""
    slot = _slot_kind(parameter)
    features = {f"{slot}": 1.0, f"{slot}:{_kind(term)}": 1.0}
    if parameter is not None and parameter.default is not None:
        features[f"default:{is_none(parameter.default)}:{'None' in members_of(term)}"] = 1.0
    agreeing = set()
    for each in evidence:
        if each.source == "prior" and not same(without_none(each.term), without_none(term)):
            continue
        agreement = _agreement(term, each.term)
        name = f"{slot}:{each.source}={agreement}"
        features[name] = 1.0
        features[f"{name}:{bucket(each.share)}"] = 1.0
        if each.source in ("call", "test_call", "name", "forward", "same_project", "same_file"):
            features[f"{name}:n{min(each.places, 4)}"] = 1.0
        if agreement in ("same", "optional"):
            agreeing.add(each.source)
            features[f"{slot}:{each.source}+{_kind(term)}"] = 1.0
    features |= {f"{one}&{two}": 1.0 for one in agreeing for two in agreeing if one < two}
    features[f"{slot}:agree{min(len(agreeing), 5)}"] = 1.0
    known = {each.source for each in evidence} & {"same_project", "same_file", "same_class"}
    dense = siblings.density > 0.5
    features[f"{slot}:dense{dense}:{bool(known)}:{bool(known & agreeing)}"] = 1.0
    return features


def _slot_kind(parameter: Parameter | None) -> Kind:
    return "return" if parameter is None else parameter.kind


def _agreement(term: str, other: str) -> str:
    if not is_known(other):
        heads = {head_of(each) for each in members_of(other)} - {UNKNOWN, "None"}
        return "head" if heads & {head_of(each) for each in members_of(term)} else "unknown"
    if same(term, other):
        return "same"
    if same(without_none(term), without_none(other)):
        return "optional"
    if set(map(head_of, members_of(without_none(term)))) == set(
        map(head_of, members_of(without_none(other)))
    ):
        return "head"
    common = set(members_of(without_none(term))) & set(members_of(without_none(other)))
    return "part" if common else "other"


def _kind(term: str) -> str:
    members = members_of(without_none(term))
    if len(members) > 1:
        return "union"
    head = head_of(members[0])
    if head in _PLAIN:
        return head
    if head in _CONTAINERS:
        return "container"
    if head in _ABSTRACT:
        return "abstract"
    return head if head in ("Callable", "type", "Literal") else "class"


WEIGHTS = Path(__file__).with_name("weights.json")


class Weights(msgspec.Struct, frozen=True):
    """Weights by feature, and the least probability at which a candidate is tried.

    `thresholds` has a value for projects whose annotations are mostly written, and for others.
    """

    packages: list[str]
    bias: float
    thresholds: Mapping[str, float]
    weights: Mapping[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        total = self.bias + sum(
            self.weights.get(name, 0.0) * value for name, value in features.items()
        )
        return 1.0 / (1.0 + math.exp(-max(min(total, 30.0), -30.0)))

    def threshold(self, density: float) -> float:
        return self.thresholds["dense" if density > 0.5 else "sparse"]


Source = Literal["rule", "ranker", "checker"]
"""What chose a type: a rule, the ranker, or the type checker that infers it."""


class Ranked(NamedTuple):
    """A candidate with the probability that it is right, and what suggests it.

    `source` is `checker` for the type that the type checker infers, `rule` for one that the
    language defines, and `ranker` for others.
    """

    term: str
    probability: float
    source: Source = "ranker"


@functools.cache
def weights() -> Weights:
    return msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights)


def rank(candidates: Iterable[Candidate], model: Weights) -> list[Ranked]:
    """Return the candidates, the most likely first."""
    ranked = [
        Ranked(
            each.term,
            model.probability(each.features),
            "checker" if each.is_inferred else "ranker",
        )
        for each in candidates
    ]
    return sorted(ranked, key=lambda each: (-each.probability, each.term))
