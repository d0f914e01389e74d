"""Evaluation of other summarizers, limits or renderers on recorded streams.

No model or tool is called. The recorded calls are kept, and only their packets are recomputed.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path

from remora.agents.definition.agent import load_agents
from remora.agents.definition.agent_yaml import SUMMARIZERS as NAMED
from remora.agents.named_summarizers import summarizer_named, summarizers_in
from remora.errors import ConfigError, NotFound, RemoraError, StreamDamaged
from remora.evals.argument_coverage import VisibleText, argument_values
from remora.evals.eval_report import Arm, EvalReport, ToolCounts
from remora.evals.eval_setting import RECORDED, EvalSetting
from remora.evals.packet_replay import PacketReplay
from remora.evals.tokens import TokenRates
from remora.memory.decode_values import decode_value
from remora.memory.events import (
    AgentStart,
    Event,
    ModelRequest,
    Payload,
    Recovered,
    ToolCalled,
    ToolResulted,
)
from remora.memory.summarizers import FACT_LIMIT, MAX_FACTS, Summarizer
from remora.operations.base import Operations
from remora.runs.records.name_lookup import stream_named
from remora.trace.blobs import resolved_payload
from remora.trace.read.reader import list_streams, read_events, typed_payload
from remora.trace.trace_folder import TraceFolder

_READ_TYPES = frozenset({AgentStart.type, ToolCalled.type, ToolResulted.type})


def compare_settings(
    folder: TraceFolder,
    root: Path,
    operations: Operations,
    agents: Sequence[str],
    asked: Sequence[EvalSetting],
) -> EvalReport:
    """Replay the agents' streams with the recorded setting and with each requested setting.

    A stream is left out of all results if it cannot be read or its packets differ from the recorded
    packets. Raises ConfigError if an agent defines an invalid summarizer.
    """
    evaluation = _Evaluation(folder, _SummarizerLookup(root, operations), (RECORDED, *asked))
    for agent in agents:
        evaluation.calibrate(agent)
    for agent in agents:
        evaluation.evaluate(agent)
    return evaluation.report()


def select_agents(folder: TraceFolder, names: Sequence[str]) -> list[str]:
    """Return the named agents and all agents of the named runs.

    If `names` is empty, return all agents. Raises whatever `stream_named` raises.
    """
    known = {stream.agent_id: stream.run_id for stream in list_streams(folder)}
    if not names:
        return list(known)
    meant = [stream_named(folder, name) for name in names]
    return [agent for agent, run in known.items() if agent in meant or run in meant]


class _Evaluation:
    def __init__(
        self, folder: TraceFolder, summarizers: "_SummarizerLookup", asked: Sequence[EvalSetting]
    ) -> None:
        self._folder = folder
        self._summarizers = summarizers
        self._tokenizers = TokenRates()
        self._arms = [Arm(setting, {}) for setting in asked]
        self._counters: dict[str, None] = {}
        self._skipped: dict[str, str] = {}
        self._streams = 0

    def calibrate(self, agent: str) -> None:
        counter = ""
        try:
            for event in read_events(self._folder.existing_agent(agent)):
                payload = (
                    typed_payload(event)
                    if event.type in (AgentStart.type, ModelRequest.type)
                    else None
                )
                if isinstance(payload, AgentStart):
                    counter = payload.counter
                elif isinstance(payload, ModelRequest):
                    self._tokenizers.add_request(counter, payload)
        except RemoraError as error:
            self._skipped[agent] = error.message

    def evaluate(self, agent: str) -> None:
        """Replay an agent's stream under every setting.

        A stream that cannot be read completely is skipped.
        """
        if agent in self._skipped:
            return
        try:
            found = self._folded(agent)
        except ConfigError:
            raise
        except (RemoraError, ValueError, RecursionError) as error:
            self._skipped[agent] = str(error)
            return
        self._streams += 1
        for arm, tools in zip(self._arms, found, strict=True):
            for tool, tally in tools.items():
                arm.tools.setdefault(tool, ToolCounts()).add(tally)

    def report(self) -> EvalReport:
        return EvalReport(
            arms=tuple(self._arms),
            streams=self._streams,
            counters=tuple(self._counters),
            skipped=tuple(self._skipped.items()),
            notes=tuple(self._summarizers.notes),
        )

    def _folded(self, agent: str) -> list[dict[str, ToolCounts]]:
        # if a writer was killed while it wrote the first line, `recovered` precedes `agent_start`
        decoded = _events_with_payloads(self._folder, agent)
        events = dropwhile(lambda pair: pair[0].type == Recovered.type, decoded)
        first, start = next(events, (None, None))
        if first is None or not isinstance(start, AgentStart):
            raise StreamDamaged("the stream does not begin with agent_start")
        counter = self._tokenizers.counter(start)
        self._counters[counter.name] = None
        readings = [
            _StreamCount(
                PacketReplay(
                    first, start, arm.setting, counter, self._summarizers_for(start, arm.setting)
                )
            )
            for arm in self._arms
        ]
        for event, payload in events:
            for reading in readings:
                reading.count_event(event, payload)
        return [reading.tools for reading in readings]

    def _summarizers_for(
        self, start: AgentStart, setting: EvalSetting
    ) -> Mapping[str, Summarizer] | None:
        if setting.summarizers is None:
            return None
        return self._summarizers.of(start, setting.summarizers)


class _StreamCount:
    """Counts for one stream and setting, keyed by tool."""

    def __init__(self, fold: PacketReplay) -> None:
        self.tools: dict[str, ToolCounts] = {}
        self._fold = fold
        self._unseen_facts: list[tuple[str, list[str]]] = []

    def count_event(self, event: Event, payload: Payload | None) -> None:
        if isinstance(payload, ToolCalled):
            self._count_call(payload)
        self._fold.apply_event(event, payload)
        if isinstance(payload, ToolResulted):
            self._unseen_facts.append((payload.tool, _facts(payload)))

    def _count_call(self, call: ToolCalled) -> None:
        fitted = self._fold.packet_for_call(call)
        shown = VisibleText(fitted.packet, self._fold.shown_history)
        for tool, facts in self._unseen_facts:
            self.tools.setdefault(tool, ToolCounts()).count_facts(facts, shown)
        self._unseen_facts.clear()
        tally = self.tools.setdefault(call.tool, ToolCounts())
        tally.count_call(fitted, shown, argument_values(decode_value(call.args)))


class _SummarizerLookup:
    """Finds the summarizers of an agent's tools.

    The summarizers come from the agent's current definition, or from the recorded definition if the
    agent no longer exists.
    """

    def __init__(self, root: Path, operations: Operations) -> None:
        self.notes: dict[str, None] = {}
        self._root = root
        self._operations = operations
        self._known: dict[str, Mapping[str, Summarizer] | None] = {}

    def of(self, start: AgentStart, mode: str) -> Mapping[str, Summarizer]:
        """Return the summarizers for results that have no summary, keyed by tool."""
        tools = [tool.name for tool in start.tools]
        return summarizers_in(mode, self._named(start), tools)

    def _named(self, start: AgentStart) -> Mapping[str, Summarizer]:
        operation = str(start.definition.get("operation"))
        if operation not in self._known:
            try:
                self._known[operation] = load_agents(self._root, self._operations, [operation])[
                    operation
                ].summarizers
            except NotFound:
                self._known[operation] = None
        found = self._known[operation]
        return self._recorded(start, operation) if found is None else found

    def _recorded(self, start: AgentStart, operation: str) -> dict[str, Summarizer]:
        summarizers = {}
        for tool in start.definition.get("tools", []):
            name, summarizer = str(tool.get("name")), tool.get("summarizer")
            if summarizer in NAMED:
                summarizers[name] = summarizer_named(summarizer, name, self._root)
            elif summarizer is not None:
                self.notes[
                    f"the agent {operation} no longer exists; using the "
                    f"default summarizer for {name}"
                ] = None
        return summarizers


def _events_with_payloads(
    folder: TraceFolder, agent: str
) -> Iterator[tuple[Event, Payload | None]]:
    """Yield each event and its payload, in which blob references are resolved.

    The payload is None if the evaluation does not need events of this type.
    """
    for event in read_events(folder.existing_agent(agent)):
        yield event, resolved_payload(event, folder.blobs) if event.type in _READ_TYPES else None


def _facts(result: ToolResulted) -> list[str]:
    """Return the distinct values in a result that are short enough to be facts."""
    found = dict.fromkeys(argument_values(decode_value(result.parsed_output)))
    return [text for text in found if len(text) <= FACT_LIMIT][:MAX_FACTS]
