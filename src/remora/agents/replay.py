"""Replays the scripts of a recorded agent, using only its stream and `objects/`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from remora.agents.named_summarizers import ScriptSummarizer
from remora.agents.verification import run_check
from remora.errors import DiskError, NotFound, RemoraError, ReplayMismatch, ScriptError, StreamError
from remora.memory.canonical import canonical
from remora.memory.decode_values import decode_value
from remora.memory.encode_values import encode_value, encoded_sha256
from remora.memory.events import AgentStart, ContextUpdate, Event, SubmitResult, ToolResulted
from remora.memory.packet import DecisionPacket, packet_json
from remora.pym import HostCall, Script, load_bytes, one_line
from remora.tools.tool import Tool, ToolRun, replay_tool
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import folded_turns
from remora.trace.read.blobs import whole_payload
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder

_PLACEHOLDER = b"<secret:"
_SCRIPTED = ("context", "candidates")
_NO_INPUTS = "its inputs are not recorded"
_REDACTED = "the record is redacted: "
_INVALID = (ValueError, TypeError, KeyError)
"""Errors of a record that does not fit: a stream from elsewhere may contain anything."""


class ScriptReplay(msgspec.Struct, frozen=True, kw_only=True):
    """The result of replaying one script."""

    seq: int
    turn: int
    kind: str
    """`tool`, `context`, `candidates`, `summarizer` or `verify`."""
    script: str
    same: bool | None
    """None if the script cannot be replayed."""
    detail: str = ""
    """Why it cannot be replayed, or what differs."""


class AgentReplay(msgspec.Struct, frozen=True, kw_only=True):
    """The results of replaying an agent's scripts, up to the first damaged line of its stream."""

    agent_id: str
    ok: bool
    """True if the stream is undamaged and no result differs from the record."""
    scripts: tuple[ScriptReplay, ...]
    error: str
    """The damage."""


class _CannotReplay(Exception):
    """Raised if a script cannot be replayed."""


def replay_agent(folder: TraceFolder, agent_id: str) -> AgentReplay:
    """Replay the scripts of an agent. A stream that cannot be read is reported in `error`."""
    found: list[ScriptReplay] = []
    error = ""
    try:
        events = read_events(folder.existing_agent(agent_id))
        found.extend(replay_scripts(events, folder.blobs, folder.objects))
    except RemoraError as broken:
        error = broken.message
    ok = not error and all(script.same is not False for script in found)
    return AgentReplay(agent_id=agent_id, ok=ok, scripts=tuple(found), error=error)


def replay_scripts(
    events: Iterable[Event], blobs: ObjectStore, objects: ObjectStore
) -> Iterator[ScriptReplay]:
    """Run each recorded script again and compare the results with the recorded results.

    The packets, inputs, clock, seed and answers of host functions are taken from the stream. The
    project, models and the Hub are not used. Raises StreamDamaged for invalid events.
    """
    replay = _Replay(blobs, objects)
    for turn in folded_turns(events):
        if turn.start is not None:
            replay.definition = whole_payload(turn.start, AgentStart, blobs).definition
        for replayed, recorded in (
            (replay.updated, turn.updates),
            (replay.resulted, turn.results),
            (replay.submitted, turn.submissions),
        ):
            for event in recorded:
                replay.packet = turn.packet_before(event) or DecisionPacket()
                yield from replayed(event)


class _Replay:
    """Replays scripts with the packet and the definition that they had."""

    def __init__(self, blobs: ObjectStore, objects: ObjectStore) -> None:
        self.packet = DecisionPacket()
        self.definition: dict[str, Any] = {}
        self._blobs = blobs
        self._objects = objects
        self._loaded: dict[tuple[str, str], Script] = {}

    def updated(self, event: Event) -> Iterator[ScriptReplay]:
        """Replay the script of a context update, if one made it."""
        payload = whole_payload(event, ContextUpdate, self._blobs)
        if payload.source in _SCRIPTED:
            path = self._part(payload.script_sha256, payload.source)
            yield self._replayed(event, payload.source, path, partial(self._update, payload, path))

    def resulted(self, event: Event) -> Iterator[ScriptReplay]:
        """Replay the script of a tool, and the one that summarized its result."""
        payload = whole_payload(event, ToolResulted, self._blobs)
        if payload.script_sha256 is not None:
            path = self._tool(payload.tool, "script")
            yield self._replayed(event, "tool", path, partial(self._result, payload, path))
        if payload.summarized is not None:
            path = self._tool(payload.tool, "summarizer")
            yield self._replayed(event, "summarizer", path, partial(self._summary, payload, path))

    def submitted(self, event: Event) -> Iterator[ScriptReplay]:
        """Replay the scripts that checked a submission."""
        for check in whole_payload(event, SubmitResult, self._blobs).checks:
            if str(check.get("name")).endswith(".pym"):
                path = str(check["name"])
                yield self._replayed(event, "verify", path, partial(self._check, check))

    def _replayed(
        self, event: Event, kind: str, path: str, differs: Callable[[], str]
    ) -> ScriptReplay:
        same: bool | None
        try:
            detail = differs()
            same = not detail
        except ReplayMismatch as error:
            same, detail = False, error.message
        except _CannotReplay as why:
            same, detail = None, str(why)
        except _INVALID as error:
            same, detail = None, f"its record is invalid: {one_line(str(error))}"
        if same is False and _PLACEHOLDER in bytes(event.data):
            same, detail = None, _REDACTED + detail
        return ScriptReplay(
            seq=event.seq, turn=event.turn, kind=kind, script=path, same=same, detail=detail
        )

    # --- each kind: how the new result differs from the recorded one -------------------------

    def _update(self, payload: ContextUpdate, path: str) -> str:
        run = self._run_tool(payload, payload.inputs, path)
        value, output = encode_value(run.result.result), encoded_sha256(run.raw_output)
        return _difference(
            {"value": value, "error": run.result.error, "output": output},
            {"value": payload.value, "error": payload.error, "output": payload.output_sha256},
        )

    def _result(self, payload: ToolResulted, path: str) -> str:
        run = self._run_tool(payload, {**payload.args, **payload.inputs}, path)
        now = {
            "raw_output": encode_value(run.raw_output),
            "parsed_output": encode_value(run.result.result),
            "outcome": run.result.outcome,
            "error": run.result.error,
            "error_kind": run.error_kind,
        }
        return _difference(now, msgspec.structs.asdict(payload))

    def _run_tool(
        self, payload: ContextUpdate | ToolResulted, inputs: dict[str, Any], path: str
    ) -> ToolRun:
        if payload.script_sha256 is None or payload.clock is None or payload.seed is None:
            raise _CannotReplay(_NO_INPUTS)
        script = self._script(payload.script_sha256, path)
        given = decode_value(inputs)
        if any(spec.name == "packet" for spec in script.inputs):
            given["packet"] = packet_json(self.packet)
        calls = msgspec.convert(decode_value(payload.host_calls), list[HostCall])
        name = payload.source if isinstance(payload, ContextUpdate) else payload.tool
        tool = Tool(name=name, description="", script=script)
        clock = datetime.fromisoformat(payload.clock)
        return replay_tool(tool, given, calls, clock=clock, seed=payload.seed)

    def _summary(self, payload: ToolResulted, path: str) -> str:
        recorded = payload.summarized or {}
        script = self._script(recorded.get("script_sha256", ""), path)
        now = ScriptSummarizer(script, payload.tool).output_of_recorded(payload.raw_output)
        return _difference(
            {"output": encoded_sha256(now)}, {"output": recorded.get("output_sha256")}
        )

    def _check(self, check: dict[str, Any]) -> str:
        recorded = check.get("script")
        if not isinstance(recorded, dict):
            raise _CannotReplay(_NO_INPUTS)
        script = self._script(str(recorded.get("script_sha256")), str(check["name"]))
        now = run_check(script, decode_value(recorded.get("inputs")), self._content)
        return _difference({"detail": now}, {"detail": check.get("detail")})

    # --- helpers -----------------------------------------------------------------------------

    def _content(self, digest: str) -> bytes:
        try:
            return self._objects.get(digest)
        except (DiskError, NotFound, StreamError) as error:
            raise _CannotReplay(error.message) from error

    def _script(self, digest: str, path: str) -> Script:
        """Load the script with the hash `digest`. `path` is shown in error messages."""
        if (digest, path) not in self._loaded:
            raw, place = self._content(digest), Path(path)
            try:
                self._loaded[digest, path] = load_bytes(raw, name=place.stem, path=place)
            except ScriptError as error:
                raise _CannotReplay(f"it cannot be loaded: {error.message}") from error
        return self._loaded[digest, path]

    def _part(self, sha256: str | None, source: str) -> str:
        paths = dict(self.definition.get("scripts") or {}).items()
        return next((path for path, known in paths if known == sha256), f"{source}.pym")

    def _tool(self, name: str, key: str) -> str:
        tools = [t for t in self.definition.get("tools") or () if isinstance(t, dict)]
        found = next((tool.get(key) for tool in tools if tool.get("name") == name), None)
        return str(found or f"{name}.pym")


def _difference(now: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    """Describe the first value that differs from the recorded one, or return an empty string."""
    differing = (name for name in now if canonical(now[name]) != canonical(recorded[name]))
    return next((f"its {name} differs from the record" for name in differing), "")
