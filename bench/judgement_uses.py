"""The three uses: their questions in development and held-out packages, and free baselines."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import judgement_docstrings as docstrings
import judgement_raises as raises
from judgement_arms import Baseline, NearestQuestions, TfIdf
from judgement_facts import (
    Phrase,
    Phrases,
    phrase_counts,
    with_summary_facts,
    with_word_facts,
)
from judgement_packages import DEVELOPMENT, HELD_OUT
from judgement_question import Question

_TRAINING = 100
"""Questions of each development package for the weights of a free baseline."""

Facts = Callable[[Question], Question]
"""Adds what rules know about the options."""


@dataclass(frozen=True)
class Use:
    """Questions of one kind. `training` and `held_out` have facts; `facts` adds them again."""

    name: str
    baselines: tuple[Baseline, ...]
    training: list[Question]
    held_out: list[Question]
    rename: Callable[[Question], Question]


def load(name: str, pool: int) -> Use:
    """Return a use with at most `pool` held-out questions, spread evenly over the packages."""
    return {
        "raise-from": _raise_from,
        "docstring-text": _docstring_text,
        "docstring-words": _docstring_words,
    }[name](pool)


def spread(questions: Iterable[Question], count: int) -> list[Question]:
    """Return questions in turn from each package, in random order, up to a number."""
    by_package: dict[str, list[Question]] = {}
    for question in questions:
        by_package.setdefault(question.package, []).append(question)
    for own in by_package.values():
        random.Random(0).shuffle(own)
    rounds = zip_longest(*by_package.values())
    return [each for turn in rounds for each in turn if each is not None][:count]


def _raise_from(pool: int) -> Use:
    training = [each for package in DEVELOPMENT for each in raises.questions(package)]
    held_out = spread((each for name in HELD_OUT for each in raises.questions(name)), pool)
    near = NearestQuestions(training)
    return Use(
        name="raise-from",
        baselines=(
            Baseline("majority", ("bias",)),
            Baseline("file and package", ("bias", "file", "package")),
            Baseline("words", ("bias", "word=")),
            Baseline("TF-IDF", ("bias", "tfidf")),
            Baseline(
                "trained", ("bias", "file", "package", "uses the exception", "only", "raised is")
            ),
            Baseline("trained, with names", ("",)),
        ),
        training=[near.add_to(each) for each in training],
        held_out=[near.add_to(each) for each in held_out],
        rename=lambda question: near.add_to(raises.renamed(question)),
    )


def _docstring_text(pool: int) -> Use:
    training = [
        each
        for package in DEVELOPMENT
        for each in docstrings.summary_questions(package, limit=_TRAINING)
    ]
    idf = TfIdf([question.code for question in training])
    held_out = spread(
        (each for name in HELD_OUT for each in docstrings.summary_questions(name, limit=20)), pool
    )
    return Use(
        name="docstring-text",
        baselines=(
            Baseline("words", ("words",)),
            Baseline("TF-IDF", ("tfidf",)),
            Baseline("trained", ("words", "tfidf", "name", "text in", "head", "body", "first")),
            Baseline("trained, with verbs", ("",)),
        ),
        training=[with_summary_facts(each, idf) for each in training],
        held_out=[with_summary_facts(each, idf) for each in held_out],
        rename=lambda question: with_summary_facts(docstrings.renamed(question), idf),
    )


def _docstring_words(pool: int) -> Use:
    prose = {name: docstrings.all_prose(name) for name in (*DEVELOPMENT, *HELD_OUT)}
    counts = {name: phrase_counts(texts.values()) for name, texts in prose.items()}
    known: Counter[Phrase] = Counter()
    for name in DEVELOPMENT:
        known.update(counts[name])
    training = [
        each
        for package in DEVELOPMENT
        for each in docstrings.word_questions(package, limit=_TRAINING)
    ]
    held_out = spread(
        (each for name in HELD_OUT for each in docstrings.word_questions(name, limit=20)), pool
    )
    idf = TfIdf([question.code for question in training])

    def facts(question: Question) -> Question:
        own = prose[question.package][question.name.rpartition(":")[0]]
        package = counts[question.package]
        others = Phrases(known, package if question.package in DEVELOPMENT else Counter())
        return with_word_facts(question, idf, [others, Phrases(package, phrase_counts([own]))])

    return Use(
        name="docstring-words",
        baselines=(
            Baseline("majority", ("phrase=",)),
            Baseline("words", ("words",)),
            Baseline("TF-IDF", ("tfidf",)),
            Baseline("phrases", ("phrase=", "count")),
            Baseline("trained", ("phrase=", "count", "words", "tfidf", "check")),
            Baseline("trained, with code", ("",)),
        ),
        training=[facts(each) for each in training],
        held_out=[facts(each) for each in held_out],
        rename=lambda question: facts(docstrings.renamed(question)),
    )


def development_sample(use: Use, count: int) -> list[Question]:
    """Return development questions for the weights of the likelihoods."""
    return spread(use.training, count)


def packages_of(questions: Sequence[Question]) -> dict[str, int]:
    """Return how many questions each package has."""
    return dict(sorted(Counter(question.package for question in questions).items()))
