"""Reads what a run on a private copy changed, and what it took."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remora.code.edit.text_lines import decode
from remora.errors import HostError, ModelError
from remora.evals.slot_results import ArmResult, SlotResult
from remora.ids import escape_path, node_key, split_node_key, unescape_path
from remora.memory.decode_values import decode_value
from remora.memory.events import Event, ModelRequest, ModelResponse, ToolResulted
from remora.operations.restorer import Choice, Restored, Restorer, Slot, SlotKey, Texts, key_of
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView
from remora.runs.review.accept_and_reject import accept
from remora.trace.blobs import resolved_payload
from remora.trace.read.reader import read_events
from remora.workspaces.rooted_files import RootedFiles

_BY_MODEL = ("model", "escalation")
_READ = frozenset(each.type for each in (ModelRequest, ModelResponse, ToolResulted))


class CopyRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a private copy that has ended.

    `run_id` is None if there was nothing to do. `seconds` is the time that this process took.
    """

    project: Project
    run_id: str | None
    seconds: float
    resumed: bool


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """The slots that were hidden from an operation, and the texts of all files without them."""

    restorer: Restorer
    slots: Sequence[Slot]
    texts: Texts


def arm_result(name: str, hidden: Hidden, done: CopyRun) -> ArmResult:
    """Accept the changes of a run on its copy, and compare them with what was hidden.

    Raises StreamDamaged or DiskError if the run's records cannot be read.
    """
    if done.run_id is None:
        nothing = Restored(outcome="left")
        left = tuple(
            _slot_result(slot, hidden, nothing, Choice(source="rule")) for slot in hidden.slots
        )
        return ArmResult(name=name, results=left, seconds=round(done.seconds, 1))
    verdicts = accept(done.project, done.run_id, (), every=True)
    view = verdicts.view
    after = _current_texts(done.project, hidden.texts)
    restored = hidden.restorer.compare(hidden.slots, hidden.texts, after)
    found = _read_streams(done.project, view)
    choices = _Choices(hidden.restorer, view, found)
    return ArmResult(
        name=name,
        results=tuple(
            _slot_result(slot, hidden, each, choices.of(slot))
            for slot, each in zip(hidden.slots, restored, strict=True)
        ),
        model=view.start.config.get("model_name"),
        jobs=Counter(job.status or "" for job in view.jobs),
        job_errors=Counter(job.error for job in view.jobs if job.error),
        conflicts=len({each["node_id"] for each in verdicts.conflicts}),
        decided_by=_sum(job.decided_by for job in view.jobs),
        requests=found.requests,
        tokens=found.tokens,
        seconds=round(done.seconds, 1),
        resumed=done.resumed,
        exit_code=ModelError.exit_code
        if any(job.stop_reason == "model_error" for job in view.jobs)
        else 0,
    )


def _slot_result(slot: Slot, hidden: Hidden, restored: Restored, choice: Choice) -> SlotResult:
    is_written = restored.outcome != "left"
    return SlotResult(
        slot=slot,
        kind=hidden.restorer.kind(slot.part),
        outcome=restored.outcome,
        text=restored.text,
        source=choice.source if is_written else None,
        probability=choice.probability if is_written else None,
    )


def _current_texts(project: ProjectRecords, texts: Texts) -> dict[str, str]:
    """Return the texts of all Python files of the copy, also of new ones."""
    files = RootedFiles(project.root)
    found = {}
    for path in sorted({*texts, *files.glob("**/*.py")}):
        try:
            found[path] = decode(path, files.read_bytes(path)).body
        except HostError:  # a file that was left out before, too
            continue
    return found


class _Streams:
    """What the streams of a run say.

    `outputs` contains the outputs of all tools by file. `tokens` are those that models received and
    wrote.
    """

    def __init__(self) -> None:
        self.outputs: dict[str, list[Any]] = defaultdict(list)
        self.requests = 0
        self.tokens = 0


class _Choices:
    """What chose the text of each slot."""

    def __init__(self, restorer: Restorer, view: RunView, streams: _Streams) -> None:
        self._known: dict[SlotKey, Choice] = {}
        for path, each in streams.outputs.items():
            self._known |= restorer.choices(path, each)
        self._by_model = {
            key
            for job in view.jobs
            if any(job.decided_by.get(name) for name in _BY_MODEL)
            for key in (job.node_id, *(job.nodes or ()))
        }

    def of(self, slot: Slot) -> Choice:
        node = node_key(escape_path(slot.path), slot.qualname)
        other = Choice(source="model" if node in self._by_model else "rule")
        return self._known.get(key_of(slot), other)


def _read_streams(project: ProjectRecords, view: RunView) -> _Streams:
    streams = _Streams()
    for job, event in _events(project, view):
        if event.type not in _READ:
            continue
        found = resolved_payload(event, project.trace.blobs)
        if isinstance(found, ModelRequest):
            streams.requests += 1
            streams.tokens += found.prompt_tokens
        elif isinstance(found, ModelResponse):
            streams.tokens += found.usage.completion_tokens or 0
        elif isinstance(found, ToolResulted):
            path, _ = split_node_key(job.node_id)
            streams.outputs[unescape_path(path)].append(decode_value(found.parsed_output))
    return streams


def _events(project: ProjectRecords, view: RunView) -> Iterator[tuple[JobView, Event]]:
    for job in view.jobs:
        if not job.damaged and job.head.count:
            for event in read_events(project.trace.existing_agent(job.agent_id)):
                yield job, event


def _sum(counts: Sequence[Mapping[str, int]] | Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
