"""Reports count each decision once, by what made it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from remora.memory.events import (
    AgentStart,
    Event,
    ModelRequest,
    Payload,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.runs.records.decision_sources import (
    SOURCES,
    DecisionSources,
    sources_text,
    total_of,
)


def counted(provider: str, *payloads: Payload) -> dict[str, int]:
    start = AgentStart(packet=DecisionPacket(), model={"provider": provider, "name": "m"})
    sources = DecisionSources()
    for each in (start, *payloads):
        sources.add(event(each))
    return {source: number for source, number in sources.counts.items() if number}


def event(payload: Payload) -> Event:
    texts = dict.fromkeys(("timestamp", "run_id", "operation", "node_id", "hash"), "")
    data = msgspec.Raw(msgspec.json.encode(payload))
    return Event(
        v=1, seq=0, turn=1, agent_id="a", type=payload.type, data=data, packet_delta=None, **texts
    )


def call(decided_by: str) -> ToolCalled:
    return ToolCalled(tool="t", decided_by=decided_by)


def annotated(*sources: str) -> ToolResulted:
    chosen: Sequence[dict[str, Any]] = [{"source": each, "number": 1} for each in sources]
    return ToolResulted(tool="annotate", parsed_output={"written": len(chosen), "chosen": chosen})


def test_a_stream_with_decisions_of_all_kinds() -> None:
    found = counted(
        "openai",
        call("rule"), ToolResulted(tool="t", parsed_output={"findings": []}),
        call("rule"), annotated("rule", "rule", "ranker", "checker", "ranker", "rule"),
        ModelRequest(), call("model"),
        ModelRequest(), call("fallback"),
        ModelRequest(), ModelRequest(model="large"), call("escalation"),
    )  # fmt: skip
    assert found == {
        "rule": 4, "ranker": 2, "checker": 1, "server": 1, "escalation": 1,
        "fallback": 1,
    }  # fmt: skip
    assert set(found) == set(SOURCES) - {"embedded"}
    assert sources_text(found) == (
        "10 decisions: 4 by rules, 2 by the ranker of types, 1 by the type checker, 1 by the "
        "model server, 1 by the larger model, 1 by fallback, because a "
        "model failed"
    )


def test_other_decisions_are_counted_by_what_made_them() -> None:
    assert counted("embedded", ModelRequest(), call("model")) == {"embedded": 1}
    assert counted("none", call("rule"), annotated()) == {"rule": 1}
    odd = ToolResulted(tool="own", parsed_output={"chosen": "nothing"})
    assert counted("none", call("rule"), odd) == {"rule": 1}
    total = total_of([{"rule": 2}, {"rule": 1, "server": 1}])
    assert total == {**dict.fromkeys(SOURCES, 0), "rule": 3, "server": 1}
