"""A linear model that estimates how likely a candidate type is right."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.operations.restorer import Source
from remora.operations.types.facts.evidence import Evidence
from remora.operations.types.ranking.type_candidates import Candidate
from remora.operations.types.source.project_index import Function

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


def with_self(
    ranked: Sequence[Ranked], evidence: Iterable[Evidence], function: Function
) -> list[Ranked]:
    """Give the probabilities of `Self` and of the class to the likelier one.

    Where `self` is returned, both are right.
    """
    owner = function.owner.name.rpartition(".")[2] if function.owner else ""
    both = [each for each in ranked if each.term in ("Self", owner)]
    if not both or all(each.source != "self" for each in evidence):
        return list(ranked)
    first = both[0]._replace(probability=min(1.0, sum(each.probability for each in both)))
    others = [each for each in ranked if each not in both]
    return sorted([first, *others], key=lambda each: -each.probability)
