"""What is exported together: live, compressed, interrupted, damaged and foreign streams."""

import json
import tracemalloc
from itertools import islice
from typing import Any

import pytest

from remora.errors import NotFound, StreamDamaged
from remora.exports.formats import export_chunks
from remora.exports.run_group import (
    ExportCounts,
    RunGroup,
    all_groups,
    group_of_agent,
    group_of_run,
)
from remora.exports.stream_summary import summarize_stream
from remora.memory.events import Change, Head, ToolResulted
from remora.trace.read.reader import last_event, read_events
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, exported, flip, made, only, rows
from tests.trace.conftest import AGENT, play_run, rechained

FORMS = ("jsonl", "otel", "sft", "functiongemma")


def all_pieces(folder: TraceFolder, groups: Any = None) -> dict[str, bytes]:
    return {form: b"".join(exported(folder, form, groups)[0]) for form in FORMS}


@pytest.fixture
def played(folder: TraceFolder) -> TraceFolder:
    run = Run(folder)
    for name in ("lint-b", "lint-a"):
        run.began(name)
        attempt = Attempt(folder, name)
        attempt.choose(0)
        run.ended(name, attempt.end())
    run.said("lint-a", "accepted")
    run.close()
    return folder


def test_a_compressed_stream_is_exported_like_any_other(played: TraceFolder) -> None:
    before = all_pieces(played)
    for path in (*played.agent_streams(), *played.run_streams()):
        compress_stream(path)
    assert all(path.name.endswith(".zst") for path in played.agent_streams())
    assert all_pieces(played) == before


def test_a_damaged_compressed_stream_is_found(played: TraceFolder) -> None:
    path = played.agent_stream("lint-a")
    compress_stream(path)
    compressed = played.existing_agent("lint-a")
    data = bytearray(compressed.read_bytes())
    data[len(data) // 3] ^= 1
    compressed.write_bytes(data)
    with pytest.raises(StreamDamaged):
        exported(played, "sft", only(group_of_agent(played, "lint-a")))
    found, tally = exported(played, "sft")
    assert {json.loads(line)["agent_id"] for line in found} == {"lint-b"}
    assert len(tally.damaged) == 1


def test_agents_are_in_the_order_in_which_they_began(played: TraceFolder) -> None:
    assert group_of_run(played, "run-1").agents == ("lint-b", "lint-a")


def test_a_missing_run_leaves_its_agents(played: TraceFolder) -> None:
    """It expired, or was recorded elsewhere: the agents tell their own story, without verdicts."""
    played.run_stream("run-1").unlink()
    groups = [group for group in all_groups(played) if isinstance(group, RunGroup)]
    assert [(group.path, group.agents) for group in groups] == [
        (None, ("lint-a",)), (None, ("lint-b",)),
    ]  # fmt: skip
    assert {row["verdict"] for row in rows(played, "sft")} == {None}
    assert group_of_agent(played, "lint-a").path is None


def test_a_missing_agent_leaves_its_run(played: TraceFolder) -> None:
    played.agent_stream("lint-b").unlink()
    assert group_of_run(played, "run-1").agents == ("lint-a",)
    with pytest.raises(NotFound):
        group_of_agent(played, "lint-b")


def test_a_stream_that_was_killed_as_it_began(played: TraceFolder) -> None:
    played.agent_stream("lint-b").write_bytes(b"")
    found, tally = exported(played, "sft")
    assert len(found) == 1
    assert tally.left_out == {"with an empty stream": 1}
    with pytest.raises(NotFound, match="empty"):
        group_of_agent(played, "lint-b")


def test_a_stream_whose_first_line_was_torn_is_exported(folder: TraceFolder) -> None:
    folder.create()
    folder.agent_stream(AGENT).write_bytes(b'{"v":1,"seq":0,"ti')
    play_run(folder)
    first, second = islice(read_events(folder.agent_stream(AGENT)), 2)
    assert (first.type, second.type) == ("recovered", "agent_start")
    found = summarize_stream(folder.agent_stream(AGENT), folder.blobs)
    last = last_event(folder.agent_stream(AGENT))
    assert last is not None
    assert found.head == Head(count=last.seq + 1, hash=last.hash)


def test_a_live_writers_unfinished_line_is_not_damage(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.choose(0)
    with folder.agent_stream("lint-a").open("ab") as file:
        file.write(b'{"v":1,"seq":')
    survey = summarize_stream(folder.agent_stream("lint-a"), folder.blobs)
    assert survey.status == "running"
    assert survey.head == attempt.writer.head
    assert len(rows(folder, "sft")) == 1
    attempt.writer.close()


@pytest.mark.parametrize("place", range(0, 4000, 131))
def test_a_flipped_byte_is_never_exported(folder: TraceFolder, place: int) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.choose(0)
    attempt.end()
    path = folder.agent_stream("lint-a")
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(StreamDamaged, match="does not match its hash"):
        summarize_stream(path, folder.blobs)


def test_an_agent_start_that_is_none_is_damage(folder: TraceFolder) -> None:
    Attempt(folder, "lint-a").end()
    path = folder.agent_stream("lint-a")
    first, *rest = path.read_bytes().splitlines()
    path.write_bytes(rechained([first.replace(b'"packet":{', b'"packet":7,"was":{'), *rest]))
    with pytest.raises(StreamDamaged, match="event 0 is not a valid agent_start"):
        summarize_stream(path, folder.blobs)
    written, tally = exported(folder, "sft")
    assert (written, len(tally.damaged)) == ([], 1)


def test_what_is_not_an_agents_stream(folder: TraceFolder) -> None:
    run = Run(folder)
    run.close()
    folder.run_stream("run-1").rename(folder.agent_stream("lint-a"))
    with pytest.raises(StreamDamaged, match="does not begin with agent_start"):
        summarize_stream(folder.agent_stream("lint-a"), folder.blobs)


def test_a_missing_blob_is_reported(folder: TraceFolder, played: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-z", goal="goal " * 30_000)
    attempt.choose(0)
    attempt.end()
    for blob in folder.blobs.folder.glob("*/*"):
        blob.unlink()
    found, tally = exported(folder, "sft")
    assert {json.loads(line)["agent_id"] for line in found} == {"lint-a", "lint-b"}
    assert "is missing" in tally.damaged[0]


def test_exact_contents_stay_in_objects(folder: TraceFolder) -> None:
    """Changed files are named by hash in a stream; no export follows them."""
    secret = b"the user's own code, exactly"
    attempt = Attempt(folder, "lint-a")
    attempt.ask()
    attempt.answer(made(0))
    change = Change(path="a.py", before=None, after=folder.objects.put(secret), mode=0o644)
    attempt.act({"line": 1}, choice=0, changes=(change,))
    attempt.end()
    assert ToolResulted.type in folder.agent_stream("lint-a").read_text()
    assert all(secret not in text for text in all_pieces(folder).values())


def test_memory_is_bounded_by_a_turn(folder: TraceFolder) -> None:
    """Three times as many agents take no more: nothing of one is kept while the next is told."""
    peaks = []
    for count in (10, 30):
        for number in range(count):
            attempt = Attempt(folder, f"lint-{count}-{number}")
            attempt.ask()
            attempt.answer(made(0))
            attempt.act({"line": 1}, choice=0, raw_output="x" * 60_000)
            attempt.end()
        # threads of other tests may allocate meanwhile
        peaks.append(min(_peak(folder, count) for _ in range(3)))
    assert peaks[1] < peaks[0] * 1.5


def _peak(folder: TraceFolder, least: int) -> int:
    tracemalloc.start()
    try:
        assert sum(1 for _ in _told(folder)) >= least
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _told(folder: TraceFolder) -> Any:
    return export_chunks(folder, lambda: all_groups(folder), "otel", ExportCounts(), content=True)


def test_a_damaged_stream_of_no_run_is_skipped(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.choose(0)
    attempt.end()
    flip(folder.agent_stream("lint-a"), b'"v"')
    found, tally = exported(folder, "otel")
    assert (found, len(tally.damaged)) == ([], 1)
