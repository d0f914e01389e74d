"""Why an agent left its node as it was: its own scripts' words, the most telling ones first."""

from msgspec import Raw

from remora.memory.delta import PacketDelta
from remora.memory.events import Event
from remora.memory.packet import Candidate, NewAction
from remora.runs.records.no_change_reason import NoChangeReason

LOOKED = PacketDelta(add_action=NewAction(tool="look", args={}, summary="1 finding: E741"))
OFFERED = PacketDelta(candidate_actions=(Candidate(tool="submit_result", reason="left as it is"),))
SUBMITTED = PacketDelta(add_action=NewAction(tool="submit_result", args={}, summary="Submitted"))


def reason(*deltas: PacketDelta | None) -> NoChangeReason:
    found = NoChangeReason()
    for seq, delta in enumerate(deltas):
        found.add(
            Event(
                v=1, seq=seq, timestamp="", run_id="r", agent_id="a", operation="o", node_id="n",
                turn=1, type="context_update", data=Raw(b"{}"), packet_delta=delta,
            )
        )  # fmt: skip
    return found


def test_the_most_telling_words_are_the_reason() -> None:
    assert reason(LOOKED, None, OFFERED, SUBMITTED).text({"missing test": 1}) == "left as it is"
    assert reason(LOOKED, OFFERED, SUBMITTED).text(None) == "left as it is"
    assert reason(LOOKED, OFFERED, SUBMITTED).text({"E741": 1}) == "1 finding: E741"
    state = PacketDelta(state_summary="no call comes to anything")
    assert reason(state, LOOKED, OFFERED).text(None) == "no call comes to anything"
    other = PacketDelta(candidate_actions=(Candidate(tool="fix", reason="fix it"),))
    assert reason(OFFERED, other).text(None) is None
    assert reason().text(None) is None
    assert reason(LOOKED, OFFERED, SUBMITTED).why("failed", None) == "look: 1 finding: E741"
    assert reason().why("failed", None) is None


def test_what_was_submitted_tells_more_than_the_candidate() -> None:
    found = reason(LOOKED, OFFERED)
    data = b'{"tool":"submit_result","args":{"summary":"x is None"},"choice":0}'
    call = Event(
        v=1, seq=2, timestamp="", run_id="r", agent_id="a", operation="o", node_id="n",
        turn=1, type="tool_call", data=Raw(data), packet_delta=None,
    )  # fmt: skip
    found.add(call)
    assert found.text(None) == "x is None"
