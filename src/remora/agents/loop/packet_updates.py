"""Updates of an agent's packet before a decision: context scripts, facts and candidates."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from remora.agents.builtin_tools import RECALL
from remora.agents.decision.candidates import as_candidates, valid_candidates
from remora.agents.inputs.hub_pull import PullHook
from remora.agents.inputs.node_versions import NodeVersions
from remora.agents.job import Job
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.state import AgentState
from remora.agents.loop.tool_execution import ToolExecution, context_update
from remora.json_schema import validator
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, error_text, knowledge, new_action
from remora.memory.delta import diagnostics as shown_diagnostics
from remora.memory.events import AgentError, ContextUpdate, Event, Payload
from remora.memory.packet import Candidate
from remora.tools.tool import Tool

RunScript = Callable[[Tool], Awaitable[ToolExecution]]
Emit = Callable[[Payload, int, PacketDelta], Event]


@dataclass
class PacketUpdates:
    """Updates the packet of an agent, and records each update.

    Updates that are already recorded are not repeated.
    """

    job: Job
    own: AgentDependencies
    state: AgentState
    run_script: RunScript
    emit: Emit

    def __post_init__(self) -> None:
        sides = NodeVersions(self.job, self.own.workspace, self.own.user_file)
        room = self.own.settings.hub_characters(self.own.model.counter.rate)
        self._hook = PullHook(self.own.facts, sides, self.own.redact, room)

    async def run_context_scripts(self) -> None:
        """Run each context script once at turn 0."""
        start = self.state.start
        if start is None or start.first_turn or self.state.turn.number:
            return
        for part in self.own.agent.context[self.state.scripts.run :]:
            execution = await self.run_script(part)
            delta = self._context.delta_for({"tool": part.script.name, **execution.result})
            delta = replace(self.permitted(delta), add_action=UNSET)
            self.emit(context_update("context", execution), 0, delta)

    async def _update_findings(self, turn: int) -> None:
        """Run context scripts again whose findings a change of files has outdated."""
        for number in [*self.state.scripts.outdated]:
            execution = await self.run_script(self.own.agent.context[number])
            found = execution.result.get("diagnostics") or ()
            delta = PacketDelta(diagnostics=shown_diagnostics(tuple(found)))
            self.emit(context_update("context", execution), turn, delta)

    async def prepare_turn(self, turn: int) -> None:
        """Update the candidates, and then the facts about what they are about."""
        await self._update_findings(turn)
        if not self.state.turn.has_candidates:
            await self._update_candidates(turn)
        if not (self.state.turn.has_facts or self.state.turn.is_over):
            await self._update_facts(turn)

    async def _update_facts(self, turn: int) -> None:
        pulled = await self._hook.pull(self._context.packet)
        if pulled is not None:
            update = ContextUpdate(source="hub", value=pulled.value, error=pulled.error)
            self.emit(update, turn, pulled.delta)

    async def _update_candidates(self, turn: int) -> None:
        part = self.own.agent.candidates
        if part is None:
            return
        execution = await self.run_script(part)
        base = self.own.workspace.base_bytes(self.job.path)
        stated = execution.result.get("candidate_actions", execution.record["parsed_output"])
        found, refusal = as_candidates(stated, base)
        actions, problem = self._valid(found)
        problem = execution.record["error"] or problem or refusal
        changes: dict[str, Any] = {"candidate_actions": actions}
        excerpt = execution.result.get("excerpt")
        if excerpt is not None and not self._shows_what_was_recalled():
            changes["excerpt"] = self._context.excerpt(excerpt)
        if (diagnostics := execution.result.get("diagnostics")) is not None:
            changes["diagnostics"] = shown_diagnostics(diagnostics)
        if facts := execution.result.get("knowledge_delta"):
            changes["update_knowledge"] = knowledge(facts)
        if problem:
            changes["set_error"] = error_text(problem)
        self.emit(context_update("candidates", execution), turn, PacketDelta(**changes))

    def _shows_what_was_recalled(self) -> bool:
        last = self._context.packet.recent_actions[-1:]
        return any(action.tool == RECALL and action.outcome == "success" for action in last)

    def permitted(self, delta: PacketDelta) -> PacketDelta:
        """Remove disallowed candidates and extensions from a script's delta."""
        if delta.candidate_actions is not UNSET:
            actions, _ = self._valid(delta.candidate_actions)
            delta = replace(delta, candidate_actions=actions)
        schema = self.own.agent.definition.packet_extension
        return checked_extensions(delta, self._context.packet.extensions, schema)

    def _valid(self, found: Sequence[Candidate]) -> tuple[tuple[Candidate, ...], str]:
        complete = not self.state.asks_model(self.own.settings)
        left = found if complete else [*filter(self.state.suggestions.may_try, found)]
        return valid_candidates(left, self.state.tools, complete=complete)

    @property
    def _context(self) -> ContextManager:
        return self.state.context


def error_delta(error: AgentError) -> PacketDelta:
    """Return the delta of an error, which shows a call that no tool accepts."""
    call = error.call
    refused = UNSET if call is None else new_action(call.tool, call.args, error.message, "error")
    return PacketDelta(add_action=refused, set_error=error_text(error.message))


def checked_extensions(
    delta: PacketDelta, current: dict[str, Any], schema: dict[str, Any] | None
) -> PacketDelta:
    """Return the delta if the resulting extensions are valid.

    If they violate the schema, return the delta with an error instead of its extensions. The schema
    applies to the merged extensions. Agents without a schema cannot have extensions.
    """
    if delta.extensions is UNSET:
        return delta
    merged = {k: v for k, v in {**current, **delta.extensions}.items() if v is not None}
    problem = _problem(merged, schema)
    if not problem:
        return delta
    return replace(delta, extensions=UNSET, set_error=error_text(f"extensions: {problem}"))


def _problem(extensions: dict[str, Any], schema: dict[str, Any] | None) -> str:
    if schema is None:
        return "the agent declares no packet_extension"
    from referencing.exceptions import Unresolvable

    try:
        error = next(validator(schema).iter_errors(extensions), None)
    except (Unresolvable, RecursionError, re.error) as broken:
        return f"the agent's packet_extension cannot be checked: {broken}"
    return error.message if error is not None else ""
