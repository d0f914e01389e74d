"""Carries an export out: into a file, to a receiver of spans, or into Inspect logs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from remora.errors import StreamDamaged, UsageError
from remora.exports.counts import Tally
from remora.exports.formats import Groups, Wish, agents, pieces, span_requests
from remora.exports.inspect_logs.inspect_log import check_inspect, eval_log, log_name, write_log
from remora.exports.inspect_logs.inspect_sample import Json, sample
from remora.exports.otel.otlp_sender import send
from remora.exports.output_file import place_for, replaced
from remora.exports.run_bundles import Attempt, RunGroup
from remora.exports.stream_summary import Survey
from remora.trace.content.private_files import FOLDER_MODE, disk_errors
from remora.trace.trace_folder import TraceFolder


def to_file(folder: TraceFolder, groups: Groups, wish: Wish, path: Path) -> Tally:
    """Write an export to a file that is replaced when all of it is there, mode 0600.

    Raises as `pieces` does, DiskError, and UsageError for a folder.
    """
    with replaced(path) as file:
        return to_stream(folder, groups, wish, file)


def to_stream(folder: TraceFolder, groups: Groups, wish: Wish, file: BinaryIO) -> Tally:
    """Write an export as it is made. Raises as `pieces` does."""
    tally = Tally()
    file.writelines(pieces(folder, groups, wish, tally))
    return tally


def to_receiver(
    folder: TraceFolder, groups: Groups, wish: Wish, endpoint: str, headers: Mapping[str, str]
) -> Tally:
    """Send spans to an OTLP/HTTP receiver. Raises as `send` and `pieces` do."""
    tally = Tally()
    for _ in send(span_requests(folder, groups, wish, tally), endpoint, headers):
        pass
    return tally


def to_logs(folder: TraceFolder, groups: Groups, wish: Wish, path: Path, *, several: bool) -> Tally:
    """Write Inspect logs: one `.eval` file, or with `several` one for each run in a folder.

    Holds one run at a time. Raises UsageError (inspect-ai is missing, a name with another ending)
    and as `pieces` does.
    """
    check_inspect()
    if not several and path.suffix != ".eval":
        raise UsageError(f"{path.name} does not end in .eval", hint="Inspect knows logs by that")
    if several:
        with disk_errors(path):
            path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    tally = Tally()
    for group in groups():
        if isinstance(group, RunGroup):
            try:
                _write(folder, group, wish, path / log_name(group) if several else path, tally)
            except StreamDamaged as error:
                if not several:
                    raise
                tally.damage(error)
        else:
            tally.damage(group)
    return tally


def _write(folder: TraceFolder, group: RunGroup, wish: Wish, path: Path, tally: Tally) -> None:
    def tell(survey: Survey, attempt: Attempt) -> Iterator[tuple[Survey, Json]]:
        yield survey, sample(folder, survey, attempt)

    told_of = list(agents(folder, group, tally, tell))
    surveys, samples = [one for one, _ in told_of], [one for _, one in told_of]
    with place_for(path) as place:
        write_log(eval_log(group, surveys, samples, wish.version), place)
    tally.records += len(samples)
