"""A project whose runs an earlier version recorded: every command still works on them."""

import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Remora, tree

ARCHIVE = Path(__file__).parents[1] / "golden" / "v1" / "project.tar.gz"
ENDED = "20261121-092735-0234b6"
KILLED = "20261121-092820-6a0338"
TRUST = "--trust-run"  # the machine that made the runs signed them with another key


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def succeed(done: Done) -> Done:
    assert done.code == 0, done.err
    return done


def test_streams_verify(remora: Remora, recorded: Path) -> None:
    document = succeed(remora("trace", "verify", "--json", cwd=recorded)).document
    assert document["ok"], document
    assert len(document["streams"]) == 17


def test_scripts_replay_to_the_same_results(remora: Remora, recorded: Path) -> None:
    done = succeed(remora("trace", "replay", cwd=recorded))
    assert done.out.strip().endswith("same"), done.out
    assert "different" not in done.out


def test_a_run_whose_agents_have_changed_is_not_resumed(remora: Remora, recorded: Path) -> None:
    before = tree(recorded)
    done = remora("analyze", "--resume", KILLED, TRUST, "--json", cwd=recorded)
    assert done.code == 2
    assert "has changed since" in done.error["message"]
    assert "start a new run" in done.error["hint"]
    assert tree(recorded) == before


def test_a_turn_forks(remora: Remora, recorded: Path) -> None:
    jobs = succeed(remora("show", ENDED, "--json", cwd=recorded)).document["jobs"]
    agent = next(
        job["agent_id"]
        for job in jobs
        if (job["operation"], job["review"], job["status"]) == ("lint", "pending", "submitted")
    )
    succeed(remora("trace", "fork", agent, "--turn", "1", "--continue", TRUST, cwd=recorded))
    succeed(remora("trace", "verify", cwd=recorded))


def test_changes_are_accepted_and_reverted(remora: Remora, recorded: Path) -> None:
    before = tree(recorded)
    succeed(remora("accept", ENDED, "--all", TRUST, cwd=recorded))
    assert tree(recorded) != before
    succeed(remora("revert", ENDED, TRUST, cwd=recorded))
    assert tree(recorded)["src/shop/returns.py"] == before["src/shop/returns.py"]
    succeed(remora("trace", "verify", cwd=recorded))
