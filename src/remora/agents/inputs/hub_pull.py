"""The pull hook, which adds current facts about relevant nodes to the packet before each turn."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from remora.agents.inputs.node_versions import NodeVersions
from remora.memory.delta import PacketDelta
from remora.memory.hub_facts import constructor_of, hub_delta, recorded_facts, wanted_nodes
from remora.memory.packet import DecisionPacket
from remora.threads import run_in_thread
from remora.trace.redact.redactor import Redactor

UNANSWERED = "no source of facts could answer in time"


class NodeFacts(Protocol):
    """Source of node facts, such as the Hub's client."""

    async def get_context(self, keys: list[str]) -> Mapping[str, Any]:
        """Return facts about the given nodes, or `{}` if there are none. Never raises.

        The result may have the attributes `generation` and `source`. `source` is None if no source
        answered.
        """


class NoHub:
    """A source without any facts, for runs that do not use the Hub."""

    async def get_context(self, keys: list[str]) -> Mapping[str, Any]:
        del keys
        return {}


class PulledFacts(NamedTuple):
    """The result of a pull: the facts, an error if no source answered, and the packet's delta."""

    value: dict[str, Any]
    error: str | None
    delta: PacketDelta


class PullHook:
    """Queries `facts` before each turn.

    `room` is the maximum number of characters that the results may take up in a packet.
    """

    def __init__(self, facts: NodeFacts, sides: NodeVersions, redact: Redactor, room: int) -> None:
        self._facts = facts
        self._sides = sides
        self._redact = redact
        self._room = room

    async def pull(self, packet: DecisionPacket) -> PulledFacts | None:
        """Return facts for the next turn, or None if the packet already contains all of them.

        The packet only shows facts about nodes that were queried in this pull, because other facts
        could be outdated. Raises HostError if the workspace cannot be read.
        """
        if isinstance(self._facts, NoHub):
            return None
        of_nodes, candidates = self._sides.suggested, packet.candidate_actions
        suggested = await run_in_thread(of_nodes, candidates) if self._sides.are_of_nodes else []
        asked = wanted_nodes(packet, suggested)
        made = [constructor_of(packet.node_id)] if packet.node_type == "class" else []
        answer = await self._facts.get_context([*asked, *made])
        silent = not answer and getattr(answer, "source", None) is None
        found = await run_in_thread(self._completed, packet.node_id, asked, answer)
        value = self._redact.clean(found)
        delta = hub_delta(packet, value, self._room, keep=silent)
        if delta == PacketDelta():
            return None
        return PulledFacts(value, UNANSWERED if silent else None, delta)

    def _completed(
        self, target: str, asked: list[str], answer: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return the answers, keyed by node, after adding facts from files that the agent
        changed, and a call of the first node.
        """
        found: dict[str, dict[str, Any]] = {}
        generation = getattr(answer, "generation", None)
        for key in asked:
            made = answer.get(constructor_of(key))
            known = recorded_facts(answer[key], generation, made) if key in answer else None
            if known and not found and (call := self._sides.call(key, known.get("callers") or ())):
                known["call"] = call
            own = self._sides.workspace_facts(key)
            if own:
                known = {"fresh": True, **(known or {}), **own, "own_facts": "workspace"}
            if known is not None and own != {}:
                found[key] = known
        if self._sides.changed_by_user():
            found[target] = found.get(target, {}) | {"changed_by_user": True}
        return found
