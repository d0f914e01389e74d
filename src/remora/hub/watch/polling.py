"""Watcher without events: each answer sweeps all files."""

from remora.hub.watch.watcher_protocol import UNKNOWN_CHANGES, Changes, Kind


class SweepingWatcher:
    """Tells nothing, and says so."""

    healthy = False

    def __init__(self, kind: Kind = "sweep", note: str = "") -> None:
        self.kind = kind
        self.note = note

    def drain(self) -> Changes:
        return UNKNOWN_CHANGES

    def settled(self, timeout: float) -> bool:  # noqa: ARG002
        return False

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        """Do nothing."""
