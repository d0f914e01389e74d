"""What the supervisor is told: one record, as words of its command line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


LIMITS_ONLY, LANDLOCK, NAMESPACES, BUBBLEWRAP = range(4)
"""The levels of isolation."""
PRIVATE_HOME = "/run/home"
PRIVATE_TMP = "/run/tmp"
"""Home and folder for temporary files of a command from NAMESPACES on: empty. /tmp is its own too,
but what it was given may lie there."""
PRIVATE_FOLDERS = (PRIVATE_HOME, PRIVATE_TMP, "/tmp", "/dev/shm")  # noqa: S108 - on a file system of its own
PRIVATE_BYTES = 1 << 30
"""The most that such a command keeps in all places that are private to it."""


class CommandRecord:
    """One command and what surrounds it.

    `read`, `write` and `scratch` are real paths; `links` are the symbolic links on the way to them.
    `spare` is a folder of ours that goes with the command, empty where there is none. `view` is the
    process whose view of the files the paths belong to, 0 where that is ours.
    """

    def __init__(self, words: Iterable[str]) -> None:
        left = iter(words)
        given = _given(left)
        self.command = list(left)
        self.level = int(given["level"][0])
        self.lifeline, self.report = int(given["lifeline"][0]), int(given["report"][0])
        self.seconds = float(given["seconds"][0])
        self.cpu, self.size, self.memory = (int(value) for value in given["limit"])
        self.folder = given["folder"][0]
        self.temporary_folder = given["spare"][0]
        self.bwrap = given["bwrap"][0]
        self.view_pid = int(given["view"][0])
        self.read, self.write = given.get("read", []), given.get("write", [])
        self.scratch = given.get("scratch", [])
        self.links = dict(zip(given.get("link", []), given.get("to", []), strict=True))


def _given(words: Iterator[str]) -> dict[str, list[str]]:
    """The words before `--`, which is taken too."""
    given: dict[str, list[str]] = {}
    for word in words:
        if word == "--":
            break
        name, _, value = word.partition("=")
        given.setdefault(name, []).append(value)
    return given


def encode_record(given: Mapping[str, Iterable[object]], command: Iterable[str]) -> list[str]:
    """The words that make an Order of these values."""
    return [*(f"{name}={value}" for name in given for value in given[name]), "--", *command]
