"""Culprits are found with few questions, whatever they do to each other."""

from collections.abc import Callable, Collection, Sequence
from itertools import combinations

import pytest

from remora.judges.gates.measured_gate import OutOfTimeError, find_culprit

Worse = Callable[[Collection[int]], bool]


class Asked:
    """Answers questions about groups, each of them once, and counts them."""

    def __init__(self, is_worse: Worse, most: int = 10_000) -> None:
        self._is_worse = is_worse
        self._known: dict[tuple[int, ...], bool] = {(): False}
        self.most = most
        self.questions = 0

    def __call__(self, groups: Sequence[int]) -> bool:
        if tuple(groups) not in self._known:
            self.questions += 1
            if self.questions > self.most:
                raise OutOfTimeError
            self._known[tuple(groups)] = self._is_worse(groups)
        return self._known[tuple(groups)]


def taken_out(number: int, ask: Callable[[Sequence[int]], bool]) -> list[int]:
    """Take out culprits until nothing is worse, as a run does."""
    left, found = [*range(number)], list[int]()
    while ask(left):
        place = find_culprit(left, ask)
        assert place is not None
        found += left[place.start : place.stop]
        del left[place.start : place.stop]
    return sorted(found)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 64])
def test_one_culprit_is_found_wherever_it_is(number: int) -> None:
    """One question is about all, one about the rest."""
    for culprit in range(number):
        ask = Asked(lambda groups, it=culprit: it in groups)  # type: ignore[misc]
        assert taken_out(number, ask) == [culprit]
        assert ask.questions <= 8


def test_each_set_of_culprits_is_found() -> None:
    for size in range(1, 7):
        for culprits in combinations(range(6), size):
            ask = Asked(lambda groups, them=frozenset(culprits): bool(them & {*groups}))  # type: ignore[misc]
            assert taken_out(6, ask) == [*culprits]


def test_of_a_pair_that_is_worse_only_together_one_is_taken_out() -> None:
    for pair in combinations(range(9), 2):
        ask = Asked(lambda groups, it=pair: {*it} <= {*groups})  # type: ignore[misc]
        assert taken_out(9, ask) == [pair[1]]
    assert find_culprit(range(8), lambda groups: False) is None
    assert find_culprit(range(8), lambda groups: True) is None
    assert find_culprit([], lambda groups: True) is None
    places = [find_culprit(range(16), Asked(lambda groups: 3 in groups, most)) for most in range(5)]
    assert places == [range(16), range(8), range(4), range(2, 4), range(3, 4)]


def test_two_causes_that_hide_each_other_leave_nothing_worse() -> None:
    """The second pair shows only once the first is apart."""

    def is_worse(groups: Collection[int]) -> bool:
        return {1, 5} <= {*groups} or {2, 7} <= {*groups} or 6 in groups

    left = {*range(8)} - {*taken_out(8, Asked(is_worse))}
    assert not is_worse(left)
    assert len(left) == 5
