"""Global event log: events of all projects in one file."""

import json
from pathlib import Path

import pytest

from remora.errors import DiskError
from remora.memory.events import TurnStart
from remora.trace.stream.emitters import NullEventEmitter, TeeEmitter
from remora.trace.stream.global_log import GlobalEventLog
from remora.trace.stream.line_builder import Identity


def test_every_event_is_one_line_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "events.jsonl"
    emitter = TeeEmitter(
        NullEventEmitter(Identity("r", "a", "lint", "node:a.py:f")), GlobalEventLog(path)
    )
    events = [emitter.emit(TurnStart(), turn=turn) for turn in (1, 2)]
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["hash"] for line in lines] == [event.hash for event in events]
    assert [line["agent_id"] for line in lines] == ["a", "a"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").symlink_to(tmp_path / "elsewhere")
    event = NullEventEmitter(Identity("r")).emit(TurnStart(), turn=1)
    with pytest.raises(DiskError, match=r"events\.jsonl") as refused:
        GlobalEventLog(tmp_path / "events.jsonl")(event)
    assert "global_events" in refused.value.hint
    assert not (tmp_path / "elsewhere").exists()
