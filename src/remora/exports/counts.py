"""What an export came to: how much was written, what was left out, and what was damaged."""

import msgspec

from remora.errors import RemoraError


class ExportCounts(msgspec.Struct, kw_only=True):
    """Counts as an export goes. `records` are rows, spans, samples or streams told.

    `plain`: the rows of this file are plain prompts, not conversations. `left_out` counts by
    reason; `damaged` holds the messages of streams that could not be read and were passed over.
    """

    streams: int = 0
    records: int = 0
    plain: bool = False
    left_out: dict[str, int] = {}
    damaged: list[str] = []

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count what is not in the file, and why."""
        self.left_out[reason] = self.left_out.get(reason, 0) + count

    def damage(self, error: RemoraError) -> None:
        """Note what could not be read, once."""
        if error.message not in self.damaged:
            self.damaged.append(error.message)
