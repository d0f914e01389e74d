"""The arms of the measurement: free baselines, likelihood, and both combined."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judgement_model import ScoredTexts
from judgement_question import Features, Question, stems_of, with_facts
from judgement_statistics import fitted_weights, weighted

_NEIGHBOURS = 10
_FOLDS = 3


class Scored(NamedTuple):
    """A question with the log probability of each option, given the code and without it."""

    question: Question
    given: tuple[float, ...]
    alone: tuple[float, ...]


Arm = Callable[[Scored], Sequence[float]]
"""Returns the score of each option."""


@dataclass(frozen=True)
class Baseline:
    """A free baseline: a name, and the beginnings of the names of the facts that it uses."""

    name: str
    facts: tuple[str, ...]


def ask(model: ScoredTexts, question: Question) -> Scored:
    """Return the question with the model's log probabilities."""
    logprobs = model.first_tokens if question.single else model.texts
    return Scored(
        question,
        tuple(map(math.fsum, logprobs(question.context, question.options))),
        tuple(map(math.fsum, logprobs(question.empty, question.options))),
    )


def chosen_facts(question: Question, names: tuple[str, ...]) -> list[Features]:
    """Return those facts whose names begin with one of `names`; an empty name is all of them."""
    return [
        {key: value for key, value in each.items() if key.startswith(names)}
        for each in question.facts
    ]


def fit_baseline(questions: Sequence[Question], baseline: Baseline) -> Features:
    """Return the weights of a baseline's facts, fitted on questions."""
    return fitted_weights([(chosen_facts(q, baseline.facts), q.right) for q in questions])


def baseline_scores(question: Question, baseline: Baseline, weights: Features) -> list[float]:
    """Return the scores that a fitted baseline gives the options."""
    return weighted(chosen_facts(question, baseline.facts), weights)


def likelihood(scored: Scored, weight: float = 1.0) -> list[float]:
    """Return log p(text | code) - weight * log p(text) for each option."""
    return [given - weight * alone for given, alone in zip(scored.given, scored.alone, strict=True)]


def calibration_facts(scored: Scored) -> list[Features]:
    """Return the facts for weights of the two likelihoods, and a preference for the first text."""
    facts: list[Features] = [
        {"given": given / 10, "alone": alone / 10}
        for given, alone in zip(scored.given, scored.alone, strict=True)
    ]
    if scored.question.single:
        facts[0]["first"] = 1.0
    return facts


def combined_facts(scored: Scored, free: Sequence[float]) -> list[Features]:
    """Return the facts for weights of the likelihoods and a free baseline's score."""
    facts = calibration_facts(scored)
    return [each | {"free": score} for each, score in zip(facts, free, strict=True)]


def fit_combination(
    scored: Sequence[Scored], training: Sequence[Question], baseline: Baseline
) -> Features:
    """Return the weights of likelihood and baseline, fitted on development packages.

    The baseline's scores of a package come from weights that were fitted without it.
    """
    packages = sorted({each.question.package for each in scored})
    asked = []
    for fold in range(_FOLDS):
        left_out = set(packages[fold::_FOLDS])
        weights = fit_baseline([q for q in training if q.package not in left_out], baseline)
        for each in scored:
            if each.question.package in left_out:
                free = baseline_scores(each.question, baseline, weights)
                asked.append((combined_facts(each, free), each.question.right))
    return fitted_weights(asked)


class TfIdf:
    """Term weights from a list of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._seen = Counter(word for text in texts for word in set(stems_of(text)))

    def vector(self, text: str) -> Features:
        """Return a text's weights by stem, with length 1."""
        counts = Counter(stems_of(text))
        weights = {word: count * self.idf(word) for word, count in counts.items()}
        length = math.sqrt(sum(value * value for value in weights.values())) or 1.0
        return {word: value / length for word, value in weights.items()}

    def idf(self, word: str) -> float:
        """Return the weight of a rare word: large; and of a frequent one: small."""
        return math.log((1 + self._count) / (1 + self._seen[word])) + 1

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of two texts."""
        return cosine(self.vector(one), self.vector(other))


def cosine(one: Features, other: Features) -> float:
    """Return the product of two vectors of length 1."""
    return sum(value * other[word] for word, value in one.items() if word in other)


class NearestQuestions:
    """Known questions by the similarity of their code."""

    def __init__(self, known: Sequence[Question]) -> None:
        self._idf = TfIdf([question.code for question in known])
        self._known = [(self._idf.vector(question.code), question) for question in known]

    def add_to(self, question: Question) -> Question:
        """Add the fact `tfidf`: how often option 0 is right in the most similar known questions.

        Questions of the same package are not used.
        """
        own = self._idf.vector(question.code)
        near = sorted(
            (
                (cosine(own, vector), -other.right)
                for vector, other in self._known
                if other.package != question.package
            ),
            reverse=True,
        )[:_NEIGHBOURS]
        share = sum(1 + right for _, right in near) / _NEIGHBOURS
        first = {**question.facts[0], "tfidf": share, "bias": 1.0}
        return with_facts(question, [first, *question.facts[1:]])
