"""The resources of the server: packets, transcripts and diffs of recorded runs."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from remora.errors import NotFound
from remora.mcp.record_answers import RecordAnswers

SCHEME = "remora://"
_MAX_DIGITS = 10


class ResourceKind(NamedTuple):
    """A kind of resource, by the first part of its address."""

    name: str
    template: str
    description: str
    mime_type: str


KINDS = (
    ResourceKind(
        "packet",
        "remora://packet/{agent}/{turn}",
        "What an agent's model saw at a turn.",
        "text/plain",
    ),
    ResourceKind(
        "transcript",
        "remora://transcript/{agent}",
        "An agent's requests, decisions and results as text.",
        "text/plain",
    ),
    ResourceKind(
        "diff",
        "remora://diff/{run}",
        "The changes that a run proposes, as unified diffs.",
        "text/x-diff",
    ),
    ResourceKind(
        "diff of an agent",
        "remora://diff/{run}/{agent}",
        "The changes that one agent of a run proposes.",
        "text/x-diff",
    ),
)


def read_resource(address: str, records: RecordAnswers) -> tuple[str, str]:
    """Return the text of a resource and its MIME type. Raises NotFound if there is none."""
    kind, *parts = [unquote(part) for part in address.removeprefix(SCHEME).split("/")]
    match kind, parts if address.startswith(SCHEME) else ():
        case "packet", [*agent, turn] if agent and turn.isdecimal() and len(turn) < _MAX_DIGITS:
            text = records.packet({"agent": "/".join(agent), "turn": int(turn)})
        case "transcript", [_, *_]:
            text = records.transcript("/".join(parts))
        case "diff", [run] | [run, _]:
            text = records.diff(run, *parts[1:])
        case _:
            known = ", ".join(each.template for each in KINDS)
            raise NotFound(f"no resource {address!r}", hint=f"resources are {known}")
    return text, next(each.mime_type for each in KINDS if each.name == kind)


def listed_runs(records: RecordAnswers) -> Sequence[tuple[str, str]]:
    """Return the addresses of the newest runs' diffs, each with a description."""
    return [
        (f"{SCHEME}diff/{run.run_id}", f"{run.pending} pending, {run.accepted} accepted")
        for run in records.newest_runs()
        if run.pending or run.accepted
    ]
