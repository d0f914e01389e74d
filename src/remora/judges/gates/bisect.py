"""A search for the part of a change that makes something worse, with few questions.

For example, 64 groups of hunks of which one breaks a test: the first 32 do not break it, the first
48 do, the first 40 do not, and so on. After six questions the culprit is known.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

_Group = TypeVar("_Group")


class OutOfTimeError(Exception):
    """Raised by a question that cannot be answered in time."""


def find_culprit(
    groups: Sequence[_Group], is_worse: Callable[[Sequence[_Group]], bool]
) -> range | None:
    """Return the place of the last of the shortest sequence of first groups that makes it worse.

    The groups that may be the culprit are several if the time was over. The result is None if it is
    not worse with all groups, or worse without any, so that no group is to blame.
    """
    low, high = 0, len(groups)
    with suppress(OutOfTimeError):
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_worse(groups[:middle]) else (middle, high)
        if high == len(groups) and not is_worse(groups):
            return None
        if low == 0 and is_worse([]):
            return None
    return range(low, high)
