"""Anchors, the signing key and replay on the command line."""

import json
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Remora, write

KEY = "0123456789abcdef0123"


@pytest.fixture
def agent(ran: Ran) -> str:
    found: str = ran.job["agent_id"]
    return found


@pytest.fixture
def copy(ran: Ran, tmp_path: Path) -> Path:
    """The project with its records, for tests that do harm."""
    shutil.copytree(ran.root, tmp_path / "copy")
    return tmp_path / "copy"


class TestAnchors:
    def test_a_line_for_every_stream(self, ran: Ran) -> None:
        lines = ran("trace", "anchor").out.splitlines()
        streams = ran("trace", "verify", "--json").document["streams"]
        assert lines == [
            f"{'run' if 'run_id' in one else 'agent'} {one.get('run_id') or one['agent_id']} "
            f"{one['head']['count']} {one['head']['hash']}"
            for one in streams
        ]
        document = ran("trace", "anchor", "--json").document
        assert set(document) == {"anchors"}
        assert [set(anchor) for anchor in document["anchors"]] == [
            {"kind", "id", "count", "hash"}
        ] * len(lines)

    def test_only_of_one_run(self, ran: Ran) -> None:
        assert ran("trace", "anchor", "--run", "last").out == ran("trace", "anchor").out
        done = ran("trace", "anchor", "--run", "nobody", "--json")
        assert done.code == 1
        assert done.error["code"] == "not_found"

    def test_kept_anchors_are_compared_with_the_streams(
        self, ran: Ran, copy: Path, tmp_path: Path
    ) -> None:
        kept = write(tmp_path, {"kept": ran("trace", "anchor").out}) / "kept"
        sound = ran.remora("trace", "verify", "--anchors", kept, cwd=copy)
        assert sound.code == 0
        assert "3 stored heads confirmed" in sound.out
        run_id = ran.analyzed.document["run_id"]
        path = copy / ".agentfs" / "runs" / f"{run_id}.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:-1]))
        assert ran.remora("trace", "verify", cwd=copy).code == 0
        done = ran.remora("trace", "verify", "--anchors", kept, "--json", cwd=copy)
        assert done.code == 1
        (bad,) = [one for one in done.document["streams"] if not one["ok"]]
        assert bad["run_id"] == run_id
        assert [problem["kind"] for problem in bad["problems"]] == ["anchor"]

    def test_a_file_without_anchors(self, ran: Ran, tmp_path: Path) -> None:
        for text in (b"nonsense\n", b"agent x 1 2\n", b'{"anchors": 1}', b"\xff\xfe"):
            kept = write(tmp_path, {"kept": text}) / "kept"
            done = ran("trace", "verify", "--anchors", str(kept), "--json")
            assert done.code == 2
            assert done.error["hint"]
        done = ran("trace", "verify", "--anchors", "nowhere", "--json")
        assert (done.code, "nowhere" in done.error["message"]) == (2, True)

    def test_a_damaged_stream_is_reported_and_the_others_are_anchored(
        self, ran: Ran, copy: Path, agent: str
    ) -> None:
        path = copy / ".agentfs" / "traces" / f"{agent}.jsonl"
        path.write_bytes(path.read_bytes().replace(b"run_linter", b"run_lintes", 1))
        done = ran.remora("trace", "anchor", "--json", cwd=copy)
        assert done.code == 1
        assert [one["id"] for one in done.document["damaged"]] == [agent]
        assert agent not in {one["id"] for one in done.document["anchors"]}
        told = ran.remora("trace", "anchor", cwd=copy)
        assert told.code == 1
        assert agent in told.err
        assert agent not in told.out


class TestKey:
    @pytest.fixture
    def signing(self, ran: Ran) -> Remora:
        return replace(ran.remora, environ={"REMORA_SIGNING_KEY": KEY})

    def test_a_fifth_word_signs_each_anchor(
        self, ran: Ran, signing: Remora, tmp_path: Path
    ) -> None:
        told = signing("trace", "anchor", cwd=ran.root).out
        assert {len(line.split()) for line in told.splitlines()} == {5}
        kept = write(tmp_path, {"kept": told}) / "kept"
        assert signing("trace", "verify", "--anchors", kept, cwd=ran.root).code == 0
        assert "1 run not signed" in signing("trace", "verify", cwd=ran.root).out
        other = replace(ran.remora, environ={"REMORA_SIGNING_KEY": KEY[::-1]})
        assert other("trace", "verify", "--anchors", kept, cwd=ran.root).code == 1

    def test_a_short_key_is_refused_and_not_shown(self, ran: Ran) -> None:
        short = replace(ran.remora, environ={"REMORA_SIGNING_KEY": "hunter2"})
        done = short("trace", "anchor", "--json", cwd=ran.root)
        assert done.code == 2
        assert "hunter2" not in done.out + done.err

    def test_a_project_cannot_name_the_key(self, ran: Ran, copy: Path) -> None:
        """Neither does it stand in the way of a verification."""
        write(copy, {"key": KEY, "remora.yaml": "runner: {memory: {signing_key_file: key}}\n"})
        done = ran.remora("trace", "anchor", cwd=copy)
        assert done.code == 0
        assert {len(line.split()) for line in done.out.splitlines()} == {4}
        assert ran.remora("analyze", "--dry-run", "--json", cwd=copy).code == 2


GUARDED = textwrap.dedent(
    """
    import json, sys
    from remora.cli.app.entry import run

    def refuse(name, args):
        if name.split(".")[0] in ("socket", "subprocess") or name in (
            "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system"
        ):
            print("ASKED", name, args, file=sys.stderr)
            raise RuntimeError(f"{name} is not for a replay")

    sys.addaudithook(refuse)
    for line in json.loads(sys.argv[1]):
        print("EXIT", run(line), *line, file=sys.stderr, flush=True)
    """
)
"""Command lines in a process that can start none and has no network."""
REPLAYS = (
    "verify --all",
    "packet {agent} --turn 2",
    "packet {agent} --turn 2 --full",
    "diff {agent} --from 1 --to 3",
    "show {agent}",
    "show {agent} --turn 2",
    "transcript {agent}",
    "list --tool edit_line",
    "get index:operation:steps",
    "anchor",
    "tail {agent}",
)


def guarded(ran: Ran, *lines: list[str]) -> list[str]:
    """What was said on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", GUARDED, json.dumps(lines)],
        cwd=ran.root,
        env=ran.remora.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stderr.splitlines()


class TestReplay:
    def test_it_starts_no_process_and_needs_no_network(self, ran: Ran, agent: str) -> None:
        root = ["--root", str(ran.root)]
        lines = [["trace", *words.format(agent=agent).split(), *root] for words in REPLAYS]
        assert guarded(ran, *lines) == [" ".join(["EXIT", "0", *line]) for line in lines]

    def test_the_guard_sees_what_a_run_needs(self, ran: Ran) -> None:
        assert any(line.startswith("ASKED") for line in guarded(ran, ["analyze", "src"]))

    def test_an_unknown_version_is_reported_and_nothing_is_guessed(
        self, ran: Ran, copy: Path, agent: str
    ) -> None:
        path = copy / ".agentfs" / "traces" / f"{agent}.jsonl"
        content = path.read_bytes()
        for name in ("fold", "trim"):
            path.write_bytes(content.replace(f'"{name}/1"'.encode(), f'"{name}/9"'.encode(), 1))
            for words in ("packet", "show"):
                done = ran.remora("trace", words, agent, "--turn", "2", "--json", cwd=copy)
                assert done.code == 1
                assert f"{name}/9" in done.error["message"]
            assert ran.remora("trace", "verify", agent, cwd=copy).code == 1
