"""A recorded request for scores must agree with the packet: texts, both prompts and weights."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from remora.memory.canonical import canonical_sha256
from remora.memory.delta import candidate
from remora.memory.events import AgentStart, Event, ModelRequest, Payload
from remora.memory.packet import DecisionPacket, Excerpt, TextPlace
from remora.trace.verify.projection_check import ProjectionCheck
from remora.trace.verify.verify_report import Problems

OLD = DecisionPacket(
    excerpt=Excerpt(ref="code", path="a.py", lines=(1, 2), text="def f():\n    x ="),
    candidate_actions=(candidate("put", {}, "", " 1"), candidate("put", {"n": 2}, "", " 2")),
)
PLACED = replace(
    OLD, text_place=TextPlace(before="code; x =", empty="x =", given="0.5", alone="-0.25")
)
AT_EXCERPT = {"texts": [" 1", " 2"], "empty": "    x ="}
AT_PLACE = {"texts": ["1", "2"], "empty": "x =", "weights": {"given": 0.5, "alone": -0.25}}


def problems(packet: DecisionPacket, renderer: str, prompt: str, **decoding: Any) -> list[str]:
    asked = ModelRequest(
        prompt=prompt,
        renderer=renderer,
        decoding={"strategy": "likelihood", **decoding},
        packet_sha256=canonical_sha256(packet),
    )
    found = Problems()
    check = ProjectionCheck(found)
    for payload in (AgentStart(packet=packet), asked):
        check.see(1, event(payload), payload)
    return [problem.detail for problem in found.all()]


def event(payload: Payload) -> Event:
    texts = dict.fromkeys(("timestamp", "run_id", "operation", "node_id", "hash"), "")
    return Event(
        v=1, seq=0, turn=1, agent_id="a", type=payload.type, data=msgspec.Raw(b"{}"),
        packet_delta=None, **texts,
    )  # fmt: skip


def test_a_request_at_the_packets_place_agrees() -> None:
    assert problems(PLACED, "likelihood/2", "code; x =", **AT_PLACE) == []


@pytest.mark.parametrize(
    "other",
    [{"weights": {"given": 0.6, "alone": -0.25}}, {"empty": "y ="}, {"texts": ["1", "3"]}],
)
def test_other_weights_prompts_or_texts_are_found(other: dict[str, Any]) -> None:
    found = problems(PLACED, "likelihood/2", "code; x =", **{**AT_PLACE, **other})
    assert found == ["the recorded prompt differs from the one rendered from the stream"]


def test_a_request_of_an_earlier_version_has_no_weights() -> None:
    assert problems(OLD, "likelihood/1", "def f():\n    x =", **AT_EXCERPT) == []
