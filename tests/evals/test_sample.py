"""The targets that are chosen."""

from collections import Counter

from remora.evals.arm_results import Target
from remora.evals.targets import sample

TARGETS = [
    Target(path=path, name=f"{number:02}")
    for path, total in (("large.py", 100), ("middle.py", 10), ("small.py", 1))
    for number in range(total)
]


def test_a_sample_is_spread_over_the_files_and_in_their_order() -> None:
    chosen = sample(TARGETS, 9, seed=0)
    assert Counter(each.path for each in chosen) == {"large.py": 4, "middle.py": 4, "small.py": 1}
    assert chosen == sorted(chosen)


def test_the_seed_decides() -> None:
    assert sample(TARGETS, 9, seed=1) == sample(reversed(TARGETS), 9, seed=1)
    assert sample(TARGETS, 9, seed=1) != sample(TARGETS, 9, seed=2)


def test_fewer_targets_than_wanted_are_all_taken() -> None:
    assert sample(TARGETS, 1000, seed=0) == sorted(TARGETS)
    assert sample(list[Target](), 5, seed=0) == []


def test_no_two_targets_of_a_file_have_the_same_key() -> None:
    chosen = sample(TARGETS, 1000, seed=0, key=lambda target: int(target.name) // 2)
    assert Counter(each.path for each in chosen) == {"large.py": 50, "middle.py": 5, "small.py": 1}


def test_a_large_project_needs_only_some_of_its_files() -> None:
    many = [Target(path=f"m{n}.py", name=str(each)) for n in range(100) for each in range(9)]
    counts = Counter(each.path for each in sample(many, 40, seed=0))
    assert set(counts.values()) == {4}
    assert len(counts) == 10
