"""Common interface of the watchers."""

from typing import Literal, NamedTuple, Protocol

Kind = Literal["inotify", "sweep", "off"]


class Changes(NamedTuple):
    """Paths reported as changed, created or removed since the last call of `drain`."""

    paths: frozenset[str]
    """Raw paths that end in `.py`. A path may not exist or may not belong to the project."""
    complete: bool
    """False if there may be other changes, which only a sweep can find."""


UNKNOWN_CHANGES = Changes(frozenset(), complete=False)


class Watcher(Protocol):
    """Reports changes below a root. Instances may be used by one thread only."""

    @property
    def kind(self) -> Kind:
        """Source of the events, or `sweep` if there is no source or the source has failed."""

    @property
    def healthy(self) -> bool:
        """False if changes can be found only by a sweep from now on."""

    @property
    def note(self) -> str:
        """Reason why the watcher is degraded, or an empty string if it is not."""

    def drain(self) -> Changes:
        """Return all changes reported so far without waiting.

        With inotify, these are all changes that were completed before the call.
        """

    def settled(self, timeout: float) -> bool:
        """Make a change and wait up to `timeout` seconds for it to be reported.

        If this method returns True, the next `drain` includes all earlier changes.
        """

    def fileno(self) -> int | None:
        """Return a file descriptor that is readable when there are changes to drain.

        It does not change until `close`.
        """

    def close(self) -> None:
        """Stop watching. This method may be called more than once."""
