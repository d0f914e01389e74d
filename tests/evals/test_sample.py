"""The slots that are hidden."""

from collections import Counter

import msgspec

from remora.evals.measure import sample_slots
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


def test_only_one_slot_of_a_definition_is_taken_if_the_others_show_how() -> None:
    pairs = [msgspec.structs.replace(slot, number=slot.number // 2) for slot in SLOTS]
    chosen = sample_slots(pairs, 1000, seed=0, alone=True)
    assert Counter(slot.path for slot in chosen) == {"large.py": 50, "middle.py": 5, "small.py": 1}
    assert len({(slot.path, slot.number) for slot in chosen}) == len(chosen)


def test_a_large_project_needs_only_some_of_its_files() -> None:
    many = [
        Slot(path=f"m{n}.py", number=each, qualname="f", part="return", text="int")
        for n in range(100)
        for each in range(9)
    ]
    counts = Counter(slot.path for slot in sample_slots(many, 40, seed=0))
    assert set(counts.values()) == {4}
    assert len(counts) == 10
