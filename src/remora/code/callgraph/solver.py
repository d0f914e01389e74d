"""Least-fixpoint solver for questions that may depend on each other in cycles.

A question is a tuple whose first item is the name of the rule that answers it. Rules read the
answers to other questions. Answers only grow. When an answer grows, the rules that read it run
again. Outside cycles, an answer is complete before it is read, so rules may check whether it is
empty. The order of questions does not matter. Recursion is bounded. The inputs of each answer are
recorded (see `incremental`).
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from remora.code.callgraph.abstract_values import EMPTY, TOP, Values, join

Question = tuple[Any, ...]
Rule = Callable[..., Values]
_K = TypeVar("_K")
_T = TypeVar("_T")

_MAX_DEPTH = 24
_ORDERED_RULES = frozenset(("mro",))  # order matters, so a new answer replaces the old one
# lists of any length, never TOP
_LIST_RULES = frozenset(("bases", "derived", "inheriting", "call_sites"))
_MAX_ROUNDS = 40
MAX_ANSWERS = 60_000
"""Maximum number of answers kept between questions; each takes about 0.6 KB."""


class _TooDeepError(Exception):
    """Raised if a question is nested too deeply. The solver must answer this question first."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Solver:
    """Answers questions using `rules`, and caches up to `max_answers` answers."""

    def __init__(self, rules: Mapping[str, Rule], max_answers: int) -> None:
        self.inputs = 0
        """All inputs read since this was last set to 0."""
        self._rules = rules
        self._max_answers = max_answers
        self._answers: dict[Question, Values] = {}
        self._inputs: dict[Question, int] = {}
        self._interned: dict[int, int] = {}
        self._readers: dict[Question, set[Question]] = {}
        self._rounds: dict[Question, int] = {}
        self._queue: dict[Question, None] = {}
        self._abandoned: set[Question] = set()
        self._current: Question | None = None
        self._depth = 0

    def solve(self, question: Question) -> Values:
        if self._current is None:
            if (found := self._answers.get(question)) is not None:
                self.inputs |= self._inputs[question]
                return found
            if len(self._answers) > self._max_answers:
                self._answers.clear()
                self._inputs.clear()
                self._interned.clear()
            try:
                self._answer_depth_first(question)
                return self._run_to_fixpoint(question)
            except BaseException:
                self._forget_unfinished()
                raise
        return self.read(question)

    def _forget_unfinished(self) -> None:
        """Drop the answers that may be incomplete. Those of earlier questions stay."""
        for question in self._readers:
            self._answers.pop(question, None)
            self._inputs.pop(question, None)
        for unfinished in (self._readers, self._rounds, self._queue, self._abandoned):
            unfinished.clear()

    def read(self, question: Question) -> Values:
        """Return the answer found so far. If it grows later, the rule that read it runs again."""
        if (answer := self._answers.get(question)) is None:
            if self._depth >= _MAX_DEPTH:
                raise _TooDeepError(question)
            self._open(question)
            try:
                answer = self._evaluate(question)
            except _TooDeepError:
                del self._answers[question]
                self._abandoned.add(question)
                raise
        readers = self._readers.get(question)
        if readers is not None and self._current is not None:
            readers.add(self._current)
        self.inputs |= self._inputs[question]
        return answer

    def _open(self, question: Question) -> None:
        self._answers[question] = EMPTY
        self._inputs.setdefault(question, 0)
        self._readers.setdefault(question, set())

    def _answer_depth_first(self, question: Question) -> None:
        """Answer a question, but first answer the questions that are nested too deeply."""
        pending = [question]
        while pending:
            try:
                self.read(pending[-1])
                pending.pop()
            except _TooDeepError as deep:
                if deep.question not in pending:
                    pending.append(deep.question)
                else:  # a cycle longer than the depth limit: start it with an empty answer
                    self._open(deep.question)
                    self._queue[deep.question] = None

    def memoize(self, cache: dict[_K, tuple[_T, int]], key: _K, make: Callable[[], _T]) -> _T:
        """Return the result of `make`, cached with its inputs. `make` must not read answers."""
        if (known := cache.get(key)) is None:
            outer, self.inputs = self.inputs, 0
            try:
                result = make()
                known = cache[key] = (result, self._intern(self.inputs))
            finally:
                self.inputs = outer
        self.inputs |= known[1]
        return known[0]

    def _intern(self, inputs: int) -> int:
        """Return one object for equal sets, because thousands of answers have the same inputs."""
        return self._interned.setdefault(inputs, inputs)

    def check_time(self) -> None:
        """Raise OutOfTimeError if a computation takes too long. There is no limit by default."""

    def _evaluate(self, question: Question) -> Values:
        self.check_time()
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
                    self._inputs[question] = self._intern(both)
            self.inputs = read
        known = self._answers[question]
        if question[0] in _ORDERED_RULES:
            answer = found
        elif question[0] in _LIST_RULES:
            answer = tuple({**dict(known), **dict(found)}.items())
        else:
            answer = join((known, found))
        if _equal(known, answer) or not self._may_grow(question):
            return known
        self._answers[question] = answer
        for reader in self._readers[question]:
            self._queue[reader] = None
        return answer

    def _may_grow(self, question: Question) -> bool:
        rounds = self._rounds[question] = self._rounds.get(question, 0) + 1
        return rounds < _MAX_ROUNDS

    def _run_to_fixpoint(self, question: Question) -> Values:
        while pending := self._next():
            try:
                self._evaluate(pending)
            except _TooDeepError as deep:
                self._queue[pending] = None
                self._answer_depth_first(deep.question)
        self._propagate_inputs()
        self._readers.clear()
        self._rounds.clear()
        self.inputs |= self._inputs[question]
        return self._answers[question]

    def _next(self) -> Question | None:
        """Return the next question to evaluate again, or None if there are none left."""
        while self._queue or self._abandoned:
            if self._queue:
                pending, _ = self._queue.popitem()
                if pending in self._answers:
                    return pending
            else:
                pending = self._abandoned.pop()
            if pending not in self._answers and self._readers[pending]:
                self._answer_depth_first(pending)
        return None

    def _propagate_inputs(self) -> None:
        """Add the inputs of each answer to its readers.

        In a cycle, a reader may have read an answer before all inputs of that answer were known.
        """
        known = self._inputs
        pending = [question for question in self._readers if known[question]]
        while pending:
            question = pending.pop()
            inputs = known[question]
            for reader in self._readers[question]:
                both = known[reader] | inputs
                if both != known[reader]:
                    known[reader] = self._intern(both)
                    pending.append(reader)


def _equal(left: Values, right: Values) -> bool:
    return left is right or (left is not TOP and right is not TOP and dict(left) == dict(right))
