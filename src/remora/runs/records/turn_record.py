"""The document of a turn, which contains its packet, events and output."""

from typing import Any

import msgspec

from remora.memory.canonical import canonical_sha256
from remora.memory.events import Event
from remora.memory.packet import packet_json
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import packet_at, turn_of_events
from remora.trace.read.blobs import resolved_data
from remora.trace.read.reader import parse_event, read_events
from remora.trace.read.turn_positions import lines_of_turn
from remora.trace.trace_folder import TraceFolder


def event_document(event: Event, blobs: ObjectStore) -> dict[str, Any]:
    """Return an event as JSON, with its blobs resolved.

    Raises StreamDamaged if its data is invalid, and NotFound if a blob is missing.
    """
    document = msgspec.structs.asdict(event)
    document["data"] = resolved_data(event, blobs)
    document["packet_delta"] = msgspec.to_builtins(event.packet_delta)
    return document


def turn_document(folder: TraceFolder, agent_id: str, turn: int) -> dict[str, Any]:
    """Return `{"agent_id", "turn", "packet", "prompt_tokens", "raw_output", "events"}`.

    `packet` is the packet that the model saw, and `prompt_tokens` the size of the last request with
    it, or null if no model was asked. `raw_output` is the complete output of the tool. Raises
    NotFound if the turn does not exist, and StreamDamaged if the stream is damaged.
    """
    path = folder.existing_agent(agent_id)
    packet = packet_at(read_events(path), turn)
    lines = lines_of_turn(path, turn)
    found = turn_of_events(turn, (parse_event(line.raw, line.number, path) for line in lines))
    documents = [event_document(event, folder.blobs) for event in found.events]
    data = {document["seq"]: document["data"] for document in documents}
    results = [data[result.seq].get("raw_output") for result in found.results]
    digest = canonical_sha256(packet)
    asked = sorted(
        (data[step.event.seq] for step in found.requests),
        key=lambda request: request.get("packet_sha256") == digest,
    )
    return {
        "agent_id": agent_id,
        "turn": turn,
        "packet": packet_json(packet),
        "prompt_tokens": asked[-1].get("prompt_tokens") if asked else None,
        "raw_output": results[-1] if results else None,
        "events": documents,
    }
