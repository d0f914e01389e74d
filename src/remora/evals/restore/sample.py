"""Choice of the slots that are hidden."""

import random
from collections import defaultdict
from collections.abc import Iterable

from remora.operations.restorer import Slot


def sample_slots(
    slots: Iterable[Slot], number: int, seed: int, *, alone: bool = False
) -> list[Slot]:
    """Return at most `number` slots in file order, spread evenly over the files.

    With `alone`, no two of them belong to the same definition.
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
    rounds = range(max(map(len, files), default=0))
    in_turn = [each[turn] for turn in rounds for each in files if turn < len(each)]
    return sorted(in_turn[:number])
