"""Least solutions of questions that depend on one another, also in circles.

A question is a tuple whose first item names the rule that answers it. A rule reads the answers of
other questions; answers only grow, and who read one that grew is asked again. So the answers do
not depend on the order of the questions, and nothing recurses without end.
"""

from collections.abc import Callable, Mapping
from typing import Any

from remora.code.resolve.values import EMPTY, TOP, Values, join

Question = tuple[Any, ...]
Rule = Callable[..., Values]

_DEEPEST = 24
_REPLACED = frozenset(("mro",))  # answers whose order counts: the newest holds
_WHOLE = frozenset(("bases", "derived", "sites"))  # answers that are lists: none is too long
_MOST_ROUNDS = 40
_MOST_ANSWERS = 60_000


class Solver:
    """Answers questions by `rules` and remembers what it found."""

    def __init__(self, rules: Mapping[str, Callable[..., Values]]) -> None:
        self._rules = rules
        self._answers: dict[Question, Values] = {}
        self._open: dict[Question, set[Question]] = {}
        self._rounds: dict[Question, int] = {}
        self._queue: dict[Question, None] = {}
        self._current: Question | None = None
        self._depth = 0

    def solve(self, question: Question) -> Values:
        """The answer, final."""
        if self._current is None:
            found = self._answers.get(question)
            if found is not None:
                return found
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.clear()
        answer = self.read(question)
        if self._current is None:
            answer = self._settle(question)
        return answer

    def read(self, question: Question) -> Values:
        """The answer as far as it is known; whoever asks from a rule is asked again if it grows."""
        answer = self._answers.get(question)
        if answer is None:
            answer = self._answers[question] = EMPTY
            self._open[question] = set()
            if self._depth < _DEEPEST:
                answer = self._ask(question)
            else:
                self._queue[question] = None
        readers = self._open.get(question)
        if readers is not None and self._current is not None:
            readers.add(self._current)
        return answer

    def _ask(self, question: Question) -> Values:
        outer, self._current = self._current, question
        self._depth += 1
        try:
            found = self._rules[question[0]](self, *question[1:])
        finally:
            self._depth -= 1
            self._current = outer
        known = self._answers[question]
        if question[0] in _REPLACED:
            answer = found
        elif question[0] in _WHOLE:
            answer = tuple({**dict(known), **dict(found)}.items())
        else:
            answer = join((known, found))
        if _same(known, answer) or not self._may_grow(question):
            return known
        self._answers[question] = answer
        for reader in self._open[question]:
            self._queue[reader] = None
        return answer

    def _may_grow(self, question: Question) -> bool:
        rounds = self._rounds[question] = self._rounds.get(question, 0) + 1
        return rounds < _MOST_ROUNDS

    def _settle(self, question: Question) -> Values:
        while self._queue:
            waiting, _ = self._queue.popitem()
            self._ask(waiting)
        self._open.clear()
        self._rounds.clear()
        return self._answers[question]


def _same(left: Values, right: Values) -> bool:
    return left is right or (left is not TOP and right is not TOP and dict(left) == dict(right))
