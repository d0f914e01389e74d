"""Interface of all watchers."""

from typing import Literal, NamedTuple, Protocol

Kind = Literal["inotify", "sweep", "off"]


class Changes(NamedTuple):
    """Paths that changed, came or went since the last question, as far as the system told."""

    paths: frozenset[str]
    """Raw paths with a Python name. Whether they are there and belong is not known yet."""
    complete: bool
    """False: something else changed too, perhaps anything. Only a sweep tells what."""


UNKNOWN_CHANGES = Changes(frozenset(), complete=False)


class Watcher(Protocol):
    """Tells of changes beneath one root. One thread asks it."""

    @property
    def kind(self) -> Kind:
        """What tells: `sweep` where nothing does, also when it did once."""

    @property
    def healthy(self) -> bool:
        """False: only sweeping tells what changed. It stays so; another watcher may do better."""

    @property
    def note(self) -> str:
        """Why it is not what was hoped for, in a sentence; empty if it is."""

    def drain(self) -> Changes:
        """All that the system has told so far, without waiting.

        With a healthy inotify watcher that is every change whose system call had returned.
        """

    def settled(self, timeout: float) -> bool:
        """Prove within `timeout` seconds that what happened before the call will be in the next
        `drain`, by a change of our own that comes through. False: it could not be proved."""

    def fileno(self) -> int | None:
        """A descriptor that can be read when there is something to drain; the same until `close`."""

    def close(self) -> None:
        """Watch nothing any more. May be called twice."""
