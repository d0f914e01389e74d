"""Recorded streams load, verify, and stand for the same packets."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from remora.agents.replay import replay_scripts
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, ModelRequest, RunStart, ToolCalled, payload
from remora.memory.packet import packet_json
from remora.memory.projection import replay
from remora.testing import check_golden
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all

HERE = Path(__file__).parent
VERSIONS = sorted(folder for folder in HERE.iterdir() if folder.name.startswith("v"))
STREAMS = sorted(HERE.glob("v*/*.jsonl"))
AGENTS = [path for path in STREAMS if path.with_suffix(".packets.json").exists()]
OF_AGENTS = pytest.mark.parametrize(
    "path", AGENTS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)


def expected(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_suffix(".packets.json").read_text())
    return found


def laid_out(streams: list[Path], root: Path) -> TraceFolder:
    """The streams where a project keeps them."""
    folder = TraceFolder(root)
    folder.create()
    for path in streams:
        first = next(iter(read_events(path)))
        name = first.agent_id or first.run_id
        place = folder.agent_stream(name) if first.agent_id else folder.run_stream(name)
        shutil.copy(path, place)
        shutil.copytree(path.parent / "objects", folder.objects.folder, dirs_exist_ok=True)
    return folder


def problems(folder: TraceFolder, *, without_run: bool = False) -> list[str]:
    found = [p for stream in verify_all(folder).streams for p in stream.problems]
    return [
        f"{p.line} {p.kind}: {p.detail}" for p in found if not (without_run and p.kind == "anchor")
    ]


def test_there_are_streams_of_every_kind() -> None:
    names = {path.stem for path in (HERE / "v1").glob("*.jsonl")}
    assert names >= {"errors", "functiongemma", "history", "json", "lint-0", "run"}
    requests = [
        data
        for path in AGENTS
        for event in read_events(path)
        if isinstance(data := payload(event), ModelRequest)
    ]
    assert {request.renderer for request in requests} >= {
        "lines/2", "json/1", "functiongemma/3", "history/1",
    }  # fmt: skip
    assert {request.decoding["strategy"] for request in requests} >= {
        "grammar", "completion",
    }  # fmt: skip
    assert any(request.trim > 3 for request in requests)
    calls = [
        data.decided_by
        for path in AGENTS
        for event in read_events(path)
        if isinstance(data := payload(event), ToolCalled)
    ]
    assert set(calls) >= {"rule", "model", "fallback"}


@OF_AGENTS
def test_every_turns_packet_is_what_it_was(path: Path) -> None:
    check_golden(path, path.with_suffix(".packets.json"))


@OF_AGENTS
def test_key_order_is_part_of_it(path: Path) -> None:
    final, wanted = packet_json(replay(read_events(path))), expected(path)["final"]
    for name in ("knowledge", "hub_context", "hub_freshness"):
        assert list(final[name]) == list(wanted[name])


@OF_AGENTS
def test_decisions_name_the_packets_that_they_were_made_on(path: Path) -> None:
    events, named = list(read_events(path)), 0
    for event in events:
        data = payload(event)
        if isinstance(data, (ToolCalled, AgentError, ModelRequest)) and data.packet_sha256:
            assert data.packet_sha256 == canonical_sha256(packet_at(events, event.turn))
            named += 1
    assert named >= 2


@OF_AGENTS
def test_hashes_folds_and_prompts_verify(path: Path, tmp_path: Path) -> None:
    folder = laid_out([path], tmp_path)
    assert problems(folder, without_run=True) == []
    assert [stream.head.hash for stream in verify_all(folder).streams] == [
        expected(path)["head"]["hash"]
    ]


@OF_AGENTS
def test_people_can_read_them(path: Path) -> None:
    assert len("".join(transcript(read_events(path)))) > 200


@pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)
def test_a_run_and_its_agents_verify_together(version: Path, tmp_path: Path) -> None:
    streams = [version / "run.jsonl", *sorted(version.glob("lint-*.jsonl"))]
    folder = laid_out(streams, tmp_path)
    assert problems(folder) == []
    assert all(stream.anchored for stream in verify_all(folder).streams if not stream.of_run)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)
def test_what_a_run_began_with_is_there(version: Path, tmp_path: Path) -> None:
    folder = laid_out([version / "run.jsonl"], tmp_path)
    start = payload(next(iter(read_events(version / "run.jsonl"))))
    assert isinstance(start, RunStart)
    for told in start.base["files"].values():
        assert folder.objects.get(told["sha256"])


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_of_the_machine_is_in_them(path: Path) -> None:
    assert re.findall(r"""["' (]/\w+/[^"]*""", path.read_text()) == []


@OF_AGENTS
def test_every_script_comes_to_the_same_again(path: Path, tmp_path: Path) -> None:
    folder = laid_out([path], tmp_path)
    found = list(replay_scripts(read_events(path), folder.blobs, folder.objects))
    assert [one for one in found if not one.same] == []
    if path.stem == "scripts":
        assert len(found) == 8
