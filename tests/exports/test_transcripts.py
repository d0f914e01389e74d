"""Transcripts: what is quoted stays a quotation, and a terminal obeys nothing of it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.events import Event, ModelResponse, Payload
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt

NASTY = st.text(
    st.sampled_from("ab \t#*_`~<>&[]()!|\\\n\r-+1.=:/@$^\x1b\x9b\u202e\u200f\u2028\ufeff{}\"'")
)
OBEYED = frozenset(map(chr, (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x200F, 0x2028)))


def event(payload: Payload, turn: int = 1) -> Event:
    return Event(
        v=1, seq=0, timestamp="", run_id="r", agent_id="a", operation="lint", node_id="n",
        turn=turn, type=payload.type, data=msgspec.Raw(msgspec.json.encode(payload)),
        packet_delta=None,
    )  # fmt: skip


@given(NASTY)
def test_a_terminal_obeys_nothing(text: str) -> None:
    lines = list(transcript([event(ModelResponse(text=text))]))
    assert not OBEYED & set("".join(lines))
    assert lines[:3] == ["", "== turn 1 ==", "<- model:"]
    assert len(lines[3:]) == 1 + text.count("\n"), "its own line ends, and no others"


def test_a_long_answer_is_whole_and_a_long_output_is_not(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.ask()
    attempt.answer("word " * 20_000)
    attempt.act({"line": 1}, choice=0, raw_output="x" * 100_000)
    attempt.end()
    events = read_events(folder.agent_stream("lint-a"))
    text = "\n".join(transcript(events, folder.blobs))
    assert "word " * 20_000 in text
    assert "xxx" * 300 not in text
