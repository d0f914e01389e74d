"""A run's events, which are read once and then passed to the functions that need them."""

from functools import cached_property
from pathlib import Path

import msgspec

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.memory.events import Event, Head, RunStart
from remora.runs.project import Project, ProjectRecords
from remora.runs.provenance import check_own_run, known_head
from remora.runs.records.attempts import Attempts, read_attempts
from remora.statuses import NO_MODEL
from remora.text import escape_line
from remora.trace.content.line_format import hashed_lines, is_torn
from remora.trace.read.reader import is_being_written, open_stream, parse_event, read_events
from remora.trace.read.verified_reader import hash_mismatch

OTHER_PROGRAM = {"recorded_by": "another program"}
"""The part of a run's configuration that marks runs of `remora.record`."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The events of a run."""

    run_id: str
    events: tuple[Event, ...]
    is_written: bool = False
    """True if a writer held the stream's lock while the stream was read."""
    verified: bool = False
    """True if every line matches its hash, and the run is trusted or of this installation."""
    trusted: bool = False
    """True if the user trusts a run of another installation."""

    @property
    def head(self) -> Head:
        """The head after the last event."""
        return Head(count=len(self.events), hash=self.events[-1].hash) if self.events else Head()

    @cached_property
    def attempts(self) -> Attempts:
        """The attempts of the run. Raises StreamDamaged if the events are invalid."""
        return read_attempts(self.events)


def is_of_other_program(start: RunStart) -> bool:
    """Return True if another program ran the agents and decided, and recorded its run here."""
    return start.config.items() >= OTHER_PROGRAM.items()


def is_of_client(start: RunStart) -> bool:
    """Return True if clients of the MCP server decided in place of a model."""
    return start.config.get("by_client") is True


def check_continuable(run_id: str, start: RunStart) -> None:
    """Raise UsageError if Remora cannot run the jobs of a run, because it did not run them."""
    if is_of_other_program(start):
        raise UsageError(
            f"another program recorded the run {run_id}", hint="start that program again"
        )


def recorded_selectors(start: RunStart) -> list[str]:
    """Return the ruff rules that the user selected for a run."""
    operations = start.config.get("operations") or {}
    return [
        rule for operation in operations.values() for rule in (operation or {}).get("select") or ()
    ]


def model_words(start: RunStart) -> tuple[str, ...]:
    """Return the option that lets a command use the model of a run, which no setting may name now."""
    recorded, name = start.config.get("model"), start.config.get("model_name")
    address = recorded.get("base_url") if isinstance(recorded, dict) else None
    used = address or ("" if name == NO_MODEL or is_of_client(start) else name)
    return ("--model", escape_line(str(used))) if used else ()


def read_record(project: ProjectRecords, run_id: str) -> RunRecord:
    """Read a run without checking hashes.

    Raises NotFound if the run does not exist, and StreamDamaged if its stream is damaged.
    """
    path = project.trace.existing_run(run_id)
    is_written = is_being_written(path)
    return RunRecord(run_id=run_id, events=tuple(read_events(path)), is_written=is_written)


def read_own_record(project: Project, run_id: str, *, trusted: bool = False) -> RunRecord:
    """Read a run and check its hashes.

    Unless `trusted` is True, also check that this installation started the run, and raise
    UsageError if it did not. An incomplete last line is left out, because only a writer may remove
    it. Raises NotFound if the run does not exist, and StreamDamaged if a hash does not match.
    """
    path = project.trace.existing_run(run_id)
    is_written = is_being_written(path)
    events, damage = _sound_events(path)
    known = known_head(project.state, run_id)
    if not events and damage is None and (trusted or not known.count):
        raise NotFound(
            f"the run {run_id} has an empty stream",
            hint="the run was killed before it wrote anything",
        )
    if not trusted:
        check_own_run(run_id, events, known, project.install_key)
    if damage is not None:
        raise damage
    return RunRecord(
        run_id=run_id, events=events, is_written=is_written, verified=True, trusted=trusted
    )


def _sound_events(path: Path) -> tuple[tuple[Event, ...], StreamDamaged | None]:
    """Return the events before the first line that does not match its hash.

    Also returns an error that describes the damage, or None if there is no damage.
    """
    events: list[Event] = []
    with open_stream(path) as source:
        for line, digest in hashed_lines(source):
            if digest is None:
                return tuple(events), None if is_torn(line) else hash_mismatch(path, line)
            events.append(parse_event(line.raw, line.number, path))
    return tuple(events), None
