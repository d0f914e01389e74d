"""The `trace compact` command, which compresses completed streams and removes old ones."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, note, size_text, wrapped
from remora.cli.app.project_context import project_of
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.runs.retention.compact_report import Compaction


@command("compact", examples=("remora trace compact --dry-run", "remora trace compact -v --json"))
@click.option("--dry-run", is_flag=True, help="Print what would be done without changing anything.")
def compact(options: Options, *, dry_run: bool) -> int:
    """Compress the streams of old runs, and remove very old runs and unused data.

    The settings are compress_after_days, keep_days and keep_mb in runner.memory.retention. Running,
    resumable and unreviewed runs are never changed. .agentfs/expired.jsonl records what was
    removed.
    """
    import msgspec

    from remora.runs.retention.compact import compact as carried_out
    from remora.runs.retention.inventory import DAMAGE
    from remora.trace.retention.expired_log import is_unignored
    from remora.trace.stream.line_builder import utc_now

    project = project_of(options)
    done = carried_out(project, utc_now(), dry_run=dry_run)
    if done.expired and is_unignored(project.trace):
        note(
            options, "add the line /expired.jsonl to .agentfs/.gitignore, which another tool wrote"
        )
    emit(options, msgspec.to_builtins(done), _lines(done, verbose=options.verbose))
    return 1 if done.problems or any(run.reason == DAMAGE for run in done.kept) else 0


def _lines(done: "Compaction", *, verbose: bool) -> Iterator[str]:
    would = "would be " if done.dry_run else ""
    yield from _compressed(done, would, verbose=verbose)
    for run in done.expired:
        streams, size = count(run.streams, "stream"), size_text(run.bytes)
        yield escape_line(f"{would}expired  {run.run_id}: {streams}, {size} ({run.reason})")
    collected = done.collected
    if collected.blobs or collected.objects:
        what = f"{count(collected.blobs, 'blob')} and {count(collected.objects, 'object')}"
        yield f"{would}removed  {what} that no stream references, {size_text(collected.bytes)}"
    for kept in done.kept:
        yield from wrapped(f"kept  {kept.run_id}: {kept.reason}", " " * 6)
    before, after = size_text(done.bytes_before), size_text(done.bytes_after)
    if done.sealed or done.expired or collected.bytes:
        reduced = "would be reduced" if done.dry_run else "reduced"
        yield f"streams and their data {reduced} from {before} to {after}"
    else:
        yield f"nothing to do; streams and their data take {before}"


def _compressed(done: "Compaction", would: str, *, verbose: bool) -> Iterator[str]:
    if verbose:
        for one in done.sealed:
            sizes = f"{size_text(one.before)} to {size_text(one.after)}"
            yield escape_line(f"{would}sealed  {one.kind} {one.id}: {sizes}")
        return
    streams = Counter(one.run_id for one in done.sealed)
    for run_id, number in streams.items():
        ours = [one for one in done.sealed if one.run_id == run_id]
        sizes = (
            f"{size_text(sum(o.before for o in ours))} to {size_text(sum(o.after for o in ours))}"
        )
        yield escape_line(f"{would}sealed  {run_id}: {count(number, 'stream')}, {sizes}")
