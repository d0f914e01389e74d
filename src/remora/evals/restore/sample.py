"""Choice of the slots that are hidden."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from remora.operations.restorer import Slot

_PER_FILE = 4
"""More files give narrower intervals, and take longer."""


def sample_slots(
    slots: Iterable[Slot], number: int, seed: int, *, alone: bool = False
) -> list[Slot]:
    """Return at most `number` slots in file order, spread evenly over files.

    There are about four slots per file, or more if the project has few files. With `alone`, no two
    slots belong to the same definition.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_path: dict[str, list[Slot]] = defaultdict(list)
    for slot in sorted(slots):
        by_path[slot.path].append(slot)
    files = list(by_path.values())
    chance.shuffle(files)
    for each in files:
        chance.shuffle(each)
        if alone:
            each[:] = {slot.number: slot for slot in each}.values()
    taken = _enough(files, number)
    rounds = range(max(map(len, taken), default=0))
    in_turn = [each[turn] for turn in rounds for each in taken if turn < len(each)]
    return sorted(in_turn[:number])


def _enough(files: Sequence[Sequence[Slot]], number: int) -> Sequence[Sequence[Slot]]:
    """Return the first files that together have enough slots, but not only a few large ones."""
    total = 0
    for count, each in enumerate(files):
        if total >= number and count * _PER_FILE >= number:
            return files[:count]
        total += len(each)
    return files
