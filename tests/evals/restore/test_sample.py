"""The slots that are hidden."""

from collections import Counter

from remora.evals.restore.sample import sample_slots
from remora.operations.restorer import Slot

SLOTS = [
    Slot(path=path, number=number, qualname="f", part="return", text="int")
    for path, total in (("large.py", 100), ("middle.py", 10), ("small.py", 1))
    for number in range(total)
]


def test_a_sample_is_spread_over_the_files_and_in_their_order() -> None:
    chosen = sample_slots(SLOTS, 9, seed=0)
    assert Counter(slot.path for slot in chosen) == {"large.py": 4, "middle.py": 4, "small.py": 1}
    assert chosen == sorted(chosen)


def test_the_seed_decides() -> None:
    assert sample_slots(SLOTS, 9, seed=1) == sample_slots(reversed(SLOTS), 9, seed=1)
    assert sample_slots(SLOTS, 9, seed=1) != sample_slots(SLOTS, 9, seed=2)


def test_fewer_slots_than_wanted_are_all_taken() -> None:
    assert sample_slots(SLOTS, 1000, seed=0) == sorted(SLOTS)
    assert sample_slots([], 5, seed=0) == []
