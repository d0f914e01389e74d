"""The Decision Packet: a small, validated view of a stream, shown to the deciding model."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from remora.text import clip

Outcome = Literal["success", "error", "partial"]
PACKET_VERSION = "1.0"

GOAL_LIMIT = 300
"""Maximum characters of `goal`, `node_summary` and `last_error`."""
SUMMARY_LIMIT = 200
"""Maximum characters of an action's summary, and of a list item."""
REFUSED_LIMIT = 4000
"""Maximum characters of each text of a call that failed, until the next action."""
MAX_ACTIONS = 10
MAX_ARGUMENTS = 16
"""Maximum arguments of an action, so that one action always fits."""
MAX_DIAGNOSTICS = 20
MAX_KNOWLEDGE_KEYS = 64
MAX_KNOWLEDGE_BYTES = 16 * 1024
MAX_HUB_NODES = 5
PINNED = frozenset({"feedback"})
"""Knowledge keys that are never evicted or trimmed."""
SUBMIT_TOOL = "submit_result"
"""The tool that ends an agent's work. A candidate that calls it is the option to stop."""
TURN_TOOLS = frozenset({"recall", "undo"})
"""Tools that refer to an earlier turn, so they are declared only if one can be meant."""
OWN_TOOLS = TURN_TOOLS | {SUBMIT_TOOL, "leave"}
"""Tools of all agents, which change no file by a text of their own."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A valid next action and the reason for it.

    `slots` limits arguments that are open, as keywords of JSON Schema by name, such as
    `{"text": {"maxLength": 72}}`.
    """

    tool: str
    args: dict[str, Any] = {}
    reason: str = ""
    slots: dict[str, Any] | UnsetType = UNSET


class NewAction(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call and its outcome, as stored in a delta."""

    tool: str
    args: dict[str, Any] = {}
    summary: str = ""
    outcome: Outcome = "success"


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `recent_actions`, which represents `count` identical calls in a row.

    `turn` is the turn of the last call.
    """

    turn: int
    tool: str
    args: dict[str, Any]
    summary: str
    outcome: Outcome
    count: int = 1


def shortened(args: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return arguments with texts of at most `limit` characters."""
    return {k: clip(v, limit) if isinstance(v, str) else v for k, v in args.items()}


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a knowledge key, and the turn in which it was set."""

    value: Any
    source_turn: int


class Excerpt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A code excerpt, which is the only verbatim text in a packet.

    `lines` contains its first and last line numbers, starting from 1. A line of `text` such as
    `... 20 lines ...` is in the place of lines that are left out. `focus` is the number of the line
    that the excerpt is about.
    """

    ref: str
    path: str
    lines: tuple[int, int]
    text: str
    focus: int = 0


class Constraints(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's maximum number of turns, its stated rules, and the names of its `verify` checks.

    Agents of other programs have no `checks`.
    """

    max_turns: int = 12
    safety: tuple[str, ...] = ()
    checks: tuple[str, ...] | UnsetType = UNSET


class DecisionPacket(msgspec.Struct, frozen=True, kw_only=True):
    """The Short Track.

    All keys are always present. `knowledge`, `hub_context` and `hub_freshness` keep their insertion
    order, which is part of the state.
    """

    packet_version: str = PACKET_VERSION
    agent_id: str = ""
    run_id: str = ""
    turn: int = 0
    goal: str = ""
    operation: str = ""
    node_id: str = ""
    node_type: str = ""
    node_summary: str = ""
    state_summary: str = ""
    excerpt: Excerpt | None = None
    diagnostics: tuple[Any, ...] = ()
    candidate_actions: tuple[Candidate, ...] = ()
    recent_actions: tuple[Action, ...] = ()
    knowledge: dict[str, Fact] = {}
    last_error: str | None = None
    error_count: int = 0
    hub_context: dict[str, Any] = {}
    hub_freshness: dict[str, Any] = {}
    constraints: Constraints = Constraints()
    extensions: dict[str, Any] = {}
    omitted: dict[str, int] = {}

    @property
    def recent_history(self) -> list[str]:
        """The summaries of the recent actions, oldest first."""
        return [action.summary for action in self.recent_actions]


def packet_json(packet: DecisionPacket) -> dict[str, Any]:
    """Return the packet as JSON values, with lists instead of tuples. All keys are included."""
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(packet))
    return built
