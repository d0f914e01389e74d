"""One command and its confinement, encoded as arguments of the supervisor."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


LIMITS_ONLY, LANDLOCK, NAMESPACES, BUBBLEWRAP = range(4)
"""The levels of isolation."""
PRIVATE_HOME = "/run/home"
PRIVATE_TMP = "/run/tmp"
"""Empty home and temporary folder from NAMESPACES on; /tmp may contain granted files."""
PRIVATE_FOLDERS = (PRIVATE_HOME, PRIVATE_TMP, "/tmp", "/dev/shm")  # noqa: S108 - private mounts
PRIVATE_BYTES = 1 << 30
"""Size limit of all private folders of a command together."""


class CommandRecord:
    """One command and its confinement.

    Paths are real; `links` are the symbolic links on the way to them. `temporary_folder` is removed
    with the command. `view_pid` is the process in whose mount namespace the paths are, 0 for ours.
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
    """Consume and parse the words up to and including `--`."""
    given: dict[str, list[str]] = {}
    for word in words:
        if word == "--":
            break
        name, _, value = word.partition("=")
        given.setdefault(name, []).append(value)
    return given


def encode_record(given: Mapping[str, Iterable[object]], command: Iterable[str]) -> list[str]:
    """Return the words from which CommandRecord reads these values."""
    return [*(f"{name}={value}" for name in given for value in given[name]), "--", *command]
