"""Counts of the exported, omitted and damaged items of an export."""

import msgspec

from remora.errors import RemoraError


class ExportCounts(msgspec.Struct, kw_only=True):
    """Running counts of an export. `records` counts rows, spans, samples or transcripts.

    `operations` counts training rows by the operation of their agent.
    `plain` is True if the rows of the file are plain prompts instead of conversations. `left_out`
    counts omitted records by reason. `damaged` contains the errors of skipped streams.
    """

    streams: int = 0
    records: int = 0
    operations: dict[str, int] = {}
    plain: bool = False
    left_out: dict[str, int] = {}
    damaged: list[str] = []

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def damage(self, error: RemoraError) -> None:
        if error.message not in self.damaged:
            self.damaged.append(error.message)
