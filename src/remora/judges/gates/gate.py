"""A gate: something of the project, such as its tests, that a change may not make worse."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from remora.errors import HostError

Levels = Mapping[str, int]
"""Level by name, for example of a test. Higher is better.

0 means absent; -2 means a problem that occurs in two places.
"""
Measure = Callable[[Path, float, tuple[str, ...]], Levels]
"""Returns the levels in a folder, within some seconds.

The last argument has the test files to which it may limit itself, if any. Raises HostError if the
gate is not installed, fails or does not finish.
"""
_PLACE = re.compile(r"(:\d+)+(?=:)")
_NUMBER = re.compile(r"(?<!Python )(?<!Python \d\.)\b\d+\b")
"""A number, but not the version of Python that a message names."""


class Gate(NamedTuple):
    """A gate of a project."""

    name: str
    label: str
    measure: Measure
    runs_code: bool = False
    """True if it runs code of the project, so that its levels may differ from run to run."""


class SlowGateError(HostError):
    """Raised if a gate did not finish in the time that it was given."""


class UnjudgedError(HostError):
    """Raised if a gate cannot judge a change, which is not a reason against the change."""


class UnstartedError(HostError):
    """Raised if no test can be run."""


class PlacedText(str):
    """Problem that a checker reports. Without numbers that move, it is a level's name."""

    __slots__ = ("lines", "said")
    lines: tuple[int, ...]
    """The lines in which it was reported."""
    said: tuple[str, ...]
    """The message in each of these lines, with its numbers."""

    @classmethod
    def at(cls, places: Sequence[tuple[int, str]], text: str) -> "PlacedText":
        """Return a problem with its lines, and with the message in each of them."""
        placed = cls(text)
        placed.lines, placed.said = zip(*places, strict=True)
        return placed


def problems(texts: Iterable[str]) -> Levels:
    """Return the problems that a checker reports, without lines and other numbers that move."""
    found = defaultdict[str, list[tuple[int, str]]](list)
    for text in texts:
        place = _PLACE.search(text)
        line = int(place[0].split(":")[1]) if place else 1
        said = _PLACE.sub("", text)
        found[_NUMBER.sub("N", said)].append((line, said))
    return {PlacedText.at(places, text): -len(places) for text, places in found.items()}


def worse(base: Levels, after: Levels) -> list[str]:
    """Return what is worse in `after` than in `base`, in words. A problem has its real message."""
    sentences = []
    placed = {what: what for what in after}  # the key of `after` has its line
    for what in {**base, **after}:
        before, now = base.get(what, 0), after.get(what, 0)
        if now < before and before > 0:
            sentences.append(f"{what} {'is skipped' if now else 'is no longer collected'}")
        elif now < before:
            text, times = placed.get(what, what), before - now
            more = f" (x{times})" if times > 1 else ""
            sentences.append(_real_text(what, text, more) or (f"{text}{more}" if more else text))
    return sentences


def _real_text(before: str, after: str, more: str) -> PlacedText | None:
    """Return the message of a problem whose numbers are new, or else of its first place."""
    if not isinstance(after, PlacedText):
        return None
    known = before.said if isinstance(before, PlacedText) and before is not after else ()
    new = Counter(after.said) - Counter(known)
    said = next(iter(new), after.said[0])
    places = [*zip(after.lines, after.said, strict=True)]
    return PlacedText.at(places if more else [at for at in places if at[1] == said], said + more)


def compared(first: Levels, second: Levels) -> tuple[Levels, list[str]]:
    """Return what holds in both of two measurements of the same state, and what differs."""
    levels = {what: (first.get(what, 0), second.get(what, 0)) for what in {**first, **second}}
    differing = [what for what, (before, now) in levels.items() if before != now]
    return {what: min(both) for what, both in levels.items()}, differing
