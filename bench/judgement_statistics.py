"""Choices among texts by weighted facts, and how sure a difference between two arms is."""

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from judgement_question import Features

_STEP = 0.3
_DECAY = 0.002

Options = Sequence[Features]
"""The facts about each option of a question."""


class Interval(NamedTuple):
    """A difference of two accuracies and its 95 % interval."""

    difference: float
    lower: float
    upper: float


def weighted(options: Options, weights: Features) -> list[float]:
    """Return the score of each option: the sum of its facts, weighted."""
    return [sum(weights.get(k, 0.0) * v for k, v in option.items()) for option in options]


def fitted_weights(asked: Sequence[tuple[Options, int]], *, rounds: int = 30) -> Features:
    """Return the weights with which a softmax over the options finds the right one.

    This is a conditional logistic regression, fitted by AdaGrad with weight decay.
    """
    weights: Features = defaultdict(float)
    squares: Features = defaultdict(lambda: 1e-6)
    order = random.Random(0)
    shuffled = list(asked)
    for _ in range(rounds):
        order.shuffle(shuffled)
        for options, right in shuffled:
            chances = softmax(weighted(options, weights))
            for number, option in enumerate(options):
                error = (number == right) - chances[number]
                for key, value in option.items():
                    slope = error * value - _DECAY * weights[key]
                    squares[key] += slope * slope
                    weights[key] += _STEP * slope / math.sqrt(squares[key])
    return dict(weights)


def softmax(scores: Sequence[float]) -> list[float]:
    """Return probabilities that are proportional to the exponentials of the scores."""
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


def credit(scores: Sequence[float], right: int) -> float:
    """Return 1 if the right option has the highest score, and a share of 1 for a tie."""
    top = max(scores)
    best = [number for number, score in enumerate(scores) if score >= top - 1e-12]
    return 1 / len(best) if right in best else 0.0


def paired_bootstrap(
    packages: Sequence[str],
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    resamples: int = 4000,
) -> Interval:
    """Return the mean of `first - second` with its interval over resampled packages."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for package, one, other in zip(packages, first, second, strict=True):
        sums[package][0] += one - other
        sums[package][1] += 1
    groups = list(sums.values())
    chosen = random.Random(seed)
    means = []
    for _ in range(resamples):
        drawn = chosen.choices(groups, k=len(groups))
        means.append(sum(each[0] for each in drawn) / sum(each[1] for each in drawn))
    means.sort()
    difference = fmean(one - other for one, other in zip(first, second, strict=True))
    return Interval(difference, means[int(resamples * 0.025)], means[int(resamples * 0.975)])


def false_alarms(gains: Sequence[float], recall: float) -> float:
    """Return the share of true texts that are flagged if `recall` of the false ones are.

    A gain is the score of a true text minus that of its false variant. A false text is flagged if
    the true one scores higher by a threshold, and a true text if its false variant does.
    """
    ordered = sorted(gains, reverse=True)
    threshold = ordered[max(0, math.ceil(recall * len(ordered)) - 1)]
    return sum(-gain >= threshold for gain in gains) / len(gains)
