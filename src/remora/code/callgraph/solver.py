"""Least solutions of questions that depend on one another, also in circles.

A question is a tuple whose first item names the rule that answers it. A rule reads the answers of
other questions; answers only grow, and who read one that grew is asked again. Nothing is read before
it was answered but in a circle, so that rules may also look at whether there is an answer; and so the
answers do not depend on the order of the questions. Nothing recurses without end.

With each answer goes what of the program it was found from, as a set of bits (see `inputs`).
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from remora.code.callgraph.abstract_values import EMPTY, TOP, Values, join

Question = tuple[Any, ...]
Rule = Callable[..., Values]
_K = TypeVar("_K")
_T = TypeVar("_T")

_DEEPEST = 24
_REPLACED = frozenset(("mro",))  # answers whose order counts: the newest holds
_WHOLE = frozenset(("bases", "derived", "sites"))  # answers that are lists: none is too long
_MOST_ROUNDS = 40
MOST_ANSWERS = 60_000
"""Kept from one question to the next; about 0.6 KB each."""


class _TooDeepError(Exception):
    """A question that has to be answered before others go on."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Solver:
    """Answers questions by `rules` and remembers what it found."""

    def __init__(self, rules: Mapping[str, Callable[..., Values]], most: int) -> None:
        self.inputs = 0
        """What was read since somebody set this to 0."""
        self._rules = rules
        self._most = most
        self._answers: dict[Question, Values] = {}
        self._inputs: dict[Question, int] = {}
        self._same: dict[int, int] = {}
        self._open: dict[Question, set[Question]] = {}
        self._rounds: dict[Question, int] = {}
        self._queue: dict[Question, None] = {}
        self._given_up: set[Question] = set()
        self._current: Question | None = None
        self._depth = 0

    def solve(self, question: Question) -> Values:
        """The answer, final."""
        if self._current is None:
            found = self._answers.get(question)
            if found is not None:
                self.inputs |= self._inputs[question]
                return found
            if len(self._answers) > self._most:
                self._answers.clear()
                self._inputs.clear()
                self._same.clear()
            self._bring(question)
            return self._settle(question)
        return self.read(question)

    def read(self, question: Question) -> Values:
        """The answer as far as it is known; whoever asks from a rule is asked again if it grows."""
        answer = self._answers.get(question)
        if answer is None:
            if self._depth >= _DEEPEST:
                raise _TooDeepError(question)
            self._begin(question)
            try:
                answer = self._ask(question)
            except _TooDeepError:
                del self._answers[question]
                self._given_up.add(question)
                raise
        readers = self._open.get(question)
        if readers is not None and self._current is not None:
            readers.add(self._current)
        self.inputs |= self._inputs[question]
        return answer

    def _begin(self, question: Question) -> None:
        self._answers[question] = EMPTY
        self._inputs.setdefault(question, 0)
        self._open.setdefault(question, set())

    def _bring(self, question: Question) -> None:
        """Have the question answered, and first those that lie too deep below it."""
        waiting = [question]
        while waiting:
            try:
                self.read(waiting[-1])
                waiting.pop()
            except _TooDeepError as deep:
                if deep.question not in waiting:
                    waiting.append(deep.question)
                else:  # a circle that is longer than we go down: somebody has to begin
                    self._begin(deep.question)
                    self._queue[deep.question] = None

    def remembered(self, kept: dict[_K, tuple[_T, int]], name: _K, make: Callable[[], _T]) -> _T:
        """What `make` gives, made once, and each time noted with all that it was made from.

        In a rule it may read no answers: they may still grow.
        """
        known = kept.get(name)
        if known is None:
            outer, self.inputs = self.inputs, 0
            try:
                made = make()
                known = kept[name] = (made, self._one(self.inputs))
            finally:
                self.inputs = outer
        self.inputs |= known[1]
        return known[0]

    def _one(self, inputs: int) -> int:
        """Equal sets are one object: thousands of answers were found from the same."""
        return self._same.setdefault(inputs, inputs)

    def _ask(self, question: Question) -> Values:
        outer, self._current = self._current, question
        read, self.inputs = self.inputs, 0
        self._depth += 1
        try:
            found = self._rules[question[0]](self, *question[1:])
        finally:
            self._depth -= 1
            self._current = outer
            if self.inputs:
                known_from = self._inputs[question]
                both = known_from | self.inputs
                if both != known_from:
                    self._inputs[question] = self._one(both)
            self.inputs = read
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
        while waiting := self._next():
            try:
                self._ask(waiting)
            except _TooDeepError as deep:
                self._queue[waiting] = None
                self._bring(deep.question)
        self._hand_on_inputs()
        self._open.clear()
        self._rounds.clear()
        self.inputs |= self._inputs[question]
        return self._answers[question]

    def _next(self) -> Question | None:
        """What is to be asked again."""
        while self._queue or self._given_up:
            if self._queue:
                waiting, _ = self._queue.popitem()
                if waiting in self._answers:
                    return waiting
            else:
                waiting = self._given_up.pop()
            if waiting not in self._answers and self._open[waiting]:  # somebody read it meanwhile
                self._bring(waiting)
        return None

    def _hand_on_inputs(self) -> None:
        """In a circle not all was known yet when an answer was read."""
        known = self._inputs
        waiting = [question for question in self._open if known[question]]
        while waiting:
            question = waiting.pop()
            given = known[question]
            for reader in self._open[question]:
                both = known[reader] | given
                if both != known[reader]:
                    known[reader] = self._one(both)
                    waiting.append(reader)


def _same(left: Values, right: Values) -> bool:
    return left is right or (left is not TOP and right is not TOP and dict(left) == dict(right))
