"""A sample of targets by seed, spread over files."""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from remora.evals.arm_results import Target
from remora.operations.restorer import Slot

_PER_FILE = 4
"""More files give narrower intervals, and take longer."""
T = TypeVar("T", Slot, Target)


def sample(
    found: Iterable[T], number: int, seed: int, key: Callable[[T], Hashable] = lambda each: each
) -> list[T]:
    """Return at most `number` targets in order, spread evenly over files.

    There are about four targets per file, or more if the project has few files. In a file, no two
    targets have the same key.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_path: dict[str, list[T]] = defaultdict(list)
    for target in sorted(found):
        by_path[target.path].append(target)
    files = list(by_path.values())
    chance.shuffle(files)
    for file in files:
        chance.shuffle(file)
        file[:] = {key(target): target for target in file}.values()
    taken = _enough(files, number)
    rounds = range(max(map(len, taken), default=0))
    in_turn = [file[turn] for turn in rounds for file in taken if turn < len(file)]
    return sorted(in_turn[:number])


def _enough(files: Sequence[Sequence[T]], number: int) -> Sequence[Sequence[T]]:
    """Return the first files that together have enough targets, but not only a few large ones."""
    total = 0
    for index, file in enumerate(files):
        if total >= number and index * _PER_FILE >= number:
            return files[:index]
        total += len(file)
    return files
