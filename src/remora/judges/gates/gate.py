"""A gate: something of the project, such as its tests, that a change may not make worse."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import PATH, Command

Facts = Mapping[str, int]
"""Level of something, such as a test: more is better.

0 is the same as not there, and less than 0 a problem: -2 is one in two places.
"""
Measure = Callable[[Path, float, tuple[str, ...]], Facts]
_PLACE = re.compile(r"(:\d+)+(?=:)")
_NUMBER = re.compile(r"(?<!Python )(?<!Python \d\.)\b\d+\b")
"""A number, but not the version of Python that a message names."""
_OUTPUT_LIMIT = 64 * 1024 * 1024


class Gate(NamedTuple):
    """A gate of a project.

    `measure` is given a folder, the seconds left, and the test files to which it may limit itself,
    if any. It raises HostError if the gate is not installed, fails or does not finish. A gate that
    `runs_code` of the project may differ from run to run.
    """

    name: str
    label: str
    measure: "Measure"
    runs_code: bool = False


class SlowGateError(HostError):
    """A gate that did not finish in the time that it was given."""


class UnjudgedError(HostError):
    """A gate that cannot judge a change, which is not a reason against the change."""


def run_python(
    python: ProjectPython,
    words: Sequence[str],
    folder: Path,
    seconds: float,
    out: tuple[Path, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> ProcessResult:
    """Run a project's interpreter in a folder.

    From isolation level 2, changes of files are discarded, but for those in `out`.
    """
    read = tuple(interpreter_paths(python.python, trusted=python.trusted))
    command = Command(
        argv=(str(python.python), *words),
        folder=folder,
        seconds=seconds,
        confinement=Confinement(read=read, write=out, scratch=(folder,)),
        environment={"PATH": f"{python.python.parent}:{PATH}", **(environment or {})},
    )
    return run_command(command, output_limit=_OUTPUT_LIMIT)


class PlacedText(str):
    """Problem that a checker reports, without numbers that move. `line` is where it was first reported."""

    __slots__ = ("line",)
    line: int


def problems(texts: Iterable[str]) -> Facts:
    """Return the problems that a checker reports, without lines and other numbers that move."""
    found = Counter[PlacedText]()
    for text in texts:
        place = _PLACE.search(text)
        plain = PlacedText(_NUMBER.sub("N", _PLACE.sub("", text)))
        plain.line = int(place[0].split(":")[1]) if place else 1
        found[plain] += 1
    return {text: -number for text, number in found.items()}


def worse(base: Facts, after: Facts) -> list[str]:
    """Return what is worse in `after` than in `base`, in words."""
    found = []
    placed = {what: what for what in after}
    for what in {**base, **after}:
        before, now = base.get(what, 0), after.get(what, 0)
        if now < before and before > 0:
            found.append(f"{what} {'is skipped' if now else 'is no longer collected'}")
        elif now < before:
            text = placed.get(what, what)
            found.append(text if before - now == 1 else f"{text} (x{before - now})")
    return found


def compared(first: Facts, second: Facts) -> tuple[Facts, list[str]]:
    """Return what holds in both of two measurements of the same state, and what differs."""
    levels = {what: (first.get(what, 0), second.get(what, 0)) for what in {**first, **second}}
    differing = [what for what, (before, now) in levels.items() if before != now]
    return {what: min(both) for what, both in levels.items()}, differing
