"""A command and its confinement, encoded as arguments for the supervisor."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


LIMITS_ONLY, LANDLOCK, NAMESPACES, BUBBLEWRAP = range(4)
"""Isolation levels."""
PRIVATE_HOME = "/run/home"
PRIVATE_TMP = "/run/tmp"
"""Empty home and temporary folders at level NAMESPACES and above.

`/tmp` is not used for this, because it may contain files that the command may read.
"""
PRIVATE_FOLDERS = (PRIVATE_HOME, PRIVATE_TMP, "/tmp", "/dev/shm")  # noqa: S108 - private mounts
PRIVATE_BYTES = 1 << 30
"""Total size limit of a command's private folders, in bytes."""


class CommandRecord:
    """A command and its confinement.

    All paths are real paths, except in `links`, which contains the symbolic links that lead to
    them. `temporary_folder` is removed when the command exits;
    the program `remover` does that if the caller has exited. `proc` is /proc, unless there is none.
    """

    def __init__(self, words: Iterable[str]) -> None:
        remaining = iter(words)
        values = _parse_words(remaining)
        self.command = list(remaining)
        self.level = int(values["level"][0])
        self.lifeline, self.report = int(values["lifeline"][0]), int(values["report"][0])
        self.seconds = float(values["seconds"][0])
        self.cpu, self.size, self.address_space, self.memory = map(int, values["limit"])
        self.folder = values["folder"][0]
        self.temporary_folder = values["spare"][0]
        self.remover = values["remover"][0]
        self.bwrap, self.proc = values["bwrap"][0], values["proc"][0]
        self.read, self.write = values.get("read", []), values.get("write", [])
        self.scratch = values.get("scratch", [])
        self.links = dict(zip(values.get("link", []), values.get("to", []), strict=True))


def _parse_words(words: Iterator[str]) -> dict[str, list[str]]:
    """Consume the words up to and including `--`, and return the parsed values."""
    values: dict[str, list[str]] = {}
    for word in words:
        if word == "--":
            break
        name, _, value = word.partition("=")
        values.setdefault(name, []).append(value)
    return values


def encode_record(values: Mapping[str, Iterable[object]], command: Iterable[str]) -> list[str]:
    """Return the arguments from which CommandRecord parses these values."""
    return [*(f"{name}={value}" for name in values for value in values[name]), "--", *command]
