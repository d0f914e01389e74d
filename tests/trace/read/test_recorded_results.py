"""Results by their keys."""

import sys

import pytest

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.trace.read.verified_reader import recorded_result
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.read.turns_of_every_kind import NODE, OTHER, RUN, World, parsed


@pytest.fixture
def world(folder: TraceFolder) -> World:
    """A folder with every kind of stream."""
    return World(folder)


JOB = f"trace:{RUN}:lint:{NODE}"


def test_the_result_is_the_newest_agents_as_recorded(world: World) -> None:
    newest = parsed(recorded_result(world.folder, f"{JOB}:1"))
    assert (newest["agent_id"], newest["data"]["raw_output"]) == (world.second.name, "first")
    # what the newest one has no result of, an older one may have
    line = recorded_result(world.folder, f"{JOB}:3")
    assert parsed(line)["agent_id"] == world.first.name
    assert line in world.lines(world.first)
    assert recorded_result(world.folder, "trace:run-1:lint:node:a:3#2@b.py:f:1")


def test_a_compressed_stream_has_the_same_results(world: World) -> None:
    world.open.reopen()
    world.open.end()
    before = recorded_result(world.folder, f"trace:run-2:lint:{OTHER}:1")
    compress_stream(world.open.path)
    assert recorded_result(world.folder, f"trace:run-2:lint:{OTHER}:1") == before


@pytest.mark.parametrize("key", [f"{JOB}:9", "trace:zzz:yyy:www:1", f"trace:{RUN}:lint:{OTHER}:1"])
def test_an_unknown_key_is_not_found(key: str, world: World) -> None:
    with pytest.raises(NotFound, match="nothing is recorded"):
        recorded_result(world.folder, key)


@pytest.mark.parametrize(
    "key", ["", "trace", "trace:a:b:c", f"{JOB}:x", "trace:a:b:\udcff:1", "index:run:run-1"]
)
def test_what_is_not_a_key(key: str, world: World) -> None:
    with pytest.raises(UsageError):
        recorded_result(world.folder, key)


def test_a_changed_line_is_refused(world: World) -> None:
    path = world.second.path
    path.write_bytes(path.read_bytes().replace(b'"turn":1', b'"turn":2', 1))
    with pytest.raises(StreamDamaged):
        recorded_result(world.folder, f"{JOB}:1")


def test_only_the_streams_of_the_job_are_read(world: World) -> None:
    opened: list[str] = []
    (world.folder.traces / "lint-junk.jsonl").write_bytes(b'{"turn":1}\nnonsense\n')
    world.second.path.rename(world.folder.traces / "lint-other.jsonl")  # of no agent

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        path = str(arguments[0]) if event == "open" and watching else ""
        if path.endswith((".jsonl", ".zst")):
            opened.append(path)

    watching = True
    sys.addaudithook(hook)
    assert parsed(recorded_result(world.folder, f"{JOB}:1"))["agent_id"] == world.first.name
    watching = False
    assert opened == [str(world.first.path)]
