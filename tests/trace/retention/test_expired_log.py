"""Expired log: an append-only hash chain."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from remora.errors import DiskError, StreamDamaged
from remora.memory.events import Head
from remora.trace.content.line_format import valid_hash
from remora.trace.retention.expired_log import ExpiredStream, log_expired, read_expired
from remora.trace.trace_folder import TraceFolder

NOW = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


def entry(name: str, count: int = 3) -> ExpiredStream:
    return ExpiredStream(
        kind="agent", id=name, run_id="r", head=Head(count=count, hash="a" * 64), bytes=9,
        reason="age",
    )  # fmt: skip


def place(folder: TraceFolder) -> Path:
    return folder.path / "expired.jsonl"


def test_nothing_went(folder: TraceFolder) -> None:
    assert list(read_expired(folder)) == []


def test_entries_are_kept_in_order_with_their_time_and_a_hash_each(folder: TraceFolder) -> None:
    log_expired(folder, [entry("a"), entry("b")], NOW)
    log_expired(folder, [entry("c")], NOW)
    found = list(read_expired(folder))
    assert [one.id for one in found] == ["a", "b", "c"]
    assert {one.timestamp for one in found} == {"2026-06-01T12:30:00.000000Z"}
    previous = "0" * 64
    for line in place(folder).read_bytes().splitlines():
        digest = valid_hash(line, previous)
        assert digest is not None
        previous = digest


def test_recorded_heads_are_not_repeated(folder: TraceFolder) -> None:
    log_expired(folder, [entry("a")], NOW)
    log_expired(folder, [entry("a"), entry("a", 4)], NOW)
    assert [(one.id, one.head.count) for one in read_expired(folder)] == [("a", 3), ("a", 4)]


@pytest.mark.parametrize("length", [1, 50, 200])
def test_what_a_killed_process_began_is_cut_off(length: int, folder: TraceFolder) -> None:
    log_expired(folder, [entry("a")], NOW)
    whole = place(folder).read_bytes()
    place(folder).write_bytes(whole + whole[:length])
    assert [one.id for one in read_expired(folder)] == ["a"]
    log_expired(folder, [entry("b")], NOW)
    assert [one.id for one in read_expired(folder)] == ["a", "b"]


def test_a_changed_record_is_reported_and_not_added_to(folder: TraceFolder) -> None:
    log_expired(folder, [entry("a"), entry("b")], NOW)
    changed = place(folder).read_bytes().replace(b'"id":"a"', b'"id":"x"')
    place(folder).write_bytes(changed)
    with pytest.raises(StreamDamaged, match="line 1"):
        list(read_expired(folder))
    with pytest.raises(StreamDamaged, match="line 1"):
        log_expired(folder, [entry("c")], NOW)
    assert place(folder).read_bytes() == changed


def test_a_link_in_its_place_is_refused(folder: TraceFolder, tmp_path: Path) -> None:
    place(folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError):
        log_expired(folder, [entry("a")], NOW)
    with pytest.raises(DiskError):
        list(read_expired(folder))
    assert not (tmp_path / "elsewhere").exists()
