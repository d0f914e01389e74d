"""Reading and checking of records starts no process and needs no network."""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.cli.conftest import Ran


@pytest.fixture
def copy(ran: Ran, tmp_path: Path) -> Path:
    """The project with its records, for tests that do harm."""
    shutil.copytree(ran.root, tmp_path / "copy")
    return tmp_path / "copy"


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
    "show {agent}",
    "show {agent} --turn 2",
    "transcript {agent}",
    "list",
    "get trace:{run_id}:{operation}:{node_id}:1",
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
        stream = ran.root / ".agentfs" / "traces" / f"{agent}.jsonl"
        job = json.loads(stream.read_bytes().splitlines()[0])
        filled = [words.format(agent=agent, **job) for words in REPLAYS]
        lines = [["trace", *words.split(), *root] for words in filled]
        assert guarded(ran, *lines) == [" ".join(["EXIT", "0", *line]) for line in lines]

    @pytest.mark.slow
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
