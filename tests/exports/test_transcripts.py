"""Transcripts: what is quoted stays a quotation, and a terminal obeys nothing of it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.exports.formats import export_chunks
from remora.exports.run_group import ExportCounts, group_of_agent
from remora.memory.events import Event, ModelResponse, Payload
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, everything, flip, only

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


def told(folder: TraceFolder, groups: Any = None) -> str:
    return b"".join(
        export_chunks(folder, groups or everything(folder), "transcript", ExportCounts())
    ).decode()


@pytest.fixture
def played(folder: TraceFolder) -> TraceFolder:
    run = Run(folder)
    run.began("lint-a")
    attempt = Attempt(folder, "lint-a")
    attempt.choose(1)
    attempt.fail("```\n# no heading\n<script>alert(1)</script>\x1b[2J")
    run.ended("lint-a", attempt.end())
    run.said("lint-a", "rejected", "too *bold*")
    run.close()
    return folder


@given(NASTY)
def test_a_terminal_obeys_nothing(text: str) -> None:
    lines = list(transcript([event(ModelResponse(text=text))]))
    assert not OBEYED & set("".join(lines))
    assert lines[:3] == ["", "== turn 1 ==", "<- model:"]
    assert len(lines[3:]) == 1 + text.count("\n"), "its own line ends, and no others"


def test_one_agent_exports_as_the_transcript_command_prints(played: TraceFolder) -> None:
    group = group_of_agent(played, "lint-a")
    expected = list(transcript(read_events(played.agent_stream("lint-a"))))
    assert told(played, only(group)).splitlines() == expected


def test_a_runs_own_events_come_first(played: TraceFolder) -> None:
    text = told(played)
    assert text.startswith("==== run run-1 ====\n\nrun start: 1 jobs\n")
    assert "review: lint-a rejected: too *bold*\n" in text
    assert text.index("==== agent lint-a ====") > text.index("rejected: too")


def test_a_long_answer_is_whole_and_a_long_output_is_not(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.ask()
    attempt.answer("word " * 20_000)
    attempt.act({"line": 1}, choice=0, raw_output="x" * 100_000)
    attempt.end()
    text = told(folder)
    assert "word " * 20_000 in text
    assert "xxx" * 300 not in text


def test_of_several_a_damaged_one_is_skipped(played: TraceFolder) -> None:
    attempt = Attempt(played, "lint-z")
    attempt.choose(0)
    attempt.end()
    flip(played.agent_stream("lint-a"), b"success")
    tally = ExportCounts()
    list(export_chunks(played, everything(played), "transcript", tally))
    assert (tally.streams, len(tally.damaged)) == (1, 1)
