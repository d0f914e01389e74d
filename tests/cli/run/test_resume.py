"""`analyze --resume` and `retry`, as they are typed."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import SETTINGS, Ran, Remora, step_agent, tree, user_without_weights, write

CHOICE = """

def read(path):
    try:
        return open(path).read()
    except:
        return ""
"""
RULED = """

def load_{0}():
    import os

    return {0}
"""


def stopped_run(folder: Path, remora: Remora) -> Ran:
    """A project whose run of twelve jobs, one with a choice, was stopped as it had hardly begun."""
    source = '"""Reads."""\n' + CHOICE + "".join(RULED.format(i) for i in range(11))
    files = {"many.py": source, "pyproject.toml": SETTINGS, **step_agent()}
    root = write(folder / "project", files)
    before = tree(root)
    words = ("analyze", "-o", "steps", "--max-time", "0.1", "--json")
    return Ran(remora, root, before, remora(*words, cwd=root))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("stopped")
    return stopped_run(folder, user_without_weights(folder / "home"))


@pytest.fixture
def stopped_with_model(tmp_path: Path, remora: Remora) -> Ran:
    return stopped_run(tmp_path, remora)


@pytest.fixture
def again(stopped: Ran) -> Ran:
    """The same run each time, in a place and home where it is known."""
    kept = stopped.root.parent.with_name(stopped.root.parent.name + "-kept")
    if not kept.exists():
        shutil.copytree(stopped.root.parent, kept, symlinks=True)
    shutil.rmtree(stopped.root.parent)
    shutil.copytree(kept, stopped.root.parent, symlinks=True)
    return stopped


@pytest.mark.slow
def test_the_document_is_that_of_the_whole_run(again: Ran) -> None:
    done = again("analyze", "--resume", "last", "--json")
    assert done.code == 0
    assert "of 12 jobs left" in done.err
    document = done.document
    assert document["totals"]["jobs"] == len(document["jobs"]) == 12
    assert {job["status"] for job in document["jobs"]} <= {"verified", "no_change"}
    assert again("show", "last", "--json").document == document
    assert again("trace", "verify").code == 0
    assert tree(again.root) == again.before

    twice = again("analyze", "--resume", document["run_id"], "--json")
    assert (twice.code, twice.document) == (0, document)
    assert "nothing to resume" in twice.err


def test_a_stopped_run_prints_its_command_which_takes_no_options_of_a_new_run(stopped: Ran) -> None:
    assert stopped.analyzed.code == 130
    assert "analyze --resume" in stopped.analyzed.err
    assert "Traceback" not in stopped.analyzed.err
    for words in (
        "many.py", "-o lint", "--node x", "--changed", "--max-nodes 1", "--unsafe-fixes",
        "--select F", "--max-turns 3", "--seed 1", "--dry-run",
    ):  # fmt: skip
        done = stopped("analyze", "--resume", "last", "--json", *words.split())
        assert (done.code, done.error["code"]) == (2, "usage_error")
        assert "cannot be combined with --resume" in done.error["message"]
    for names in (("analyze", "--resume", "nothing-like-it"), ("retry", "last", "nobody_here")):
        done = stopped(*names, "--json")
        assert (done.code, done.error["code"]) == (1, "not_found")
    assert stopped("analyze", "--trust-run").code == 2


@pytest.mark.slow
def test_no_other_model_goes_on(stopped_with_model: Ran) -> None:
    other = stopped_with_model("analyze", "--resume", "last", "--model", "other", "--json")
    assert (other.code, "SmolLM2" in other.error["message"]) == (2, True)


@pytest.mark.slow
def test_a_run_from_elsewhere_needs_trust(again: Ran, tmp_path: Path) -> None:
    stranger = replace(again, remora=user_without_weights(tmp_path / "other"))
    done = stranger("analyze", "--resume", "last", "--json")
    assert done.code == 2
    assert "--trust-run" in done.error["hint"]
    assert stranger("analyze", "--resume", "last", "--trust-run", "--json").code == 0


class TestRetry:
    @pytest.mark.slow
    def test_it_prints_what_analyze_prints(self, ran_alone: Ran) -> None:
        remora, project = ran_alone.remora, ran_alone.root
        before = remora("show", "last", "--json", cwd=project).document
        words = ("retry", "last", "read", "--feedback", "name the exception")
        done = remora(*words, "--json", cwd=project)
        assert done.code == 0
        document = done.document
        assert document["run_id"] == before["run_id"]
        assert [job["attempt"] for job in document["jobs"]].count(2) == 1
        new = next(job for job in document["jobs"] if job["attempt"] == 2)
        first = next(job for job in document["jobs"] if job["attempt"] == 1)
        assert (first["same"], new["same"]) == (False, True)
        packet = remora(
            "trace", "packet", new["agent_id"], "--turn", "1", "--json", cwd=project
        ).document
        assert packet["knowledge"]["feedback"]["value"] == "name the exception"
        assert remora("trace", "verify", cwd=project).code == 0

        forked = remora(
            "trace", "fork", new["agent_id"], "--turn", "2", "--json", cwd=project
        ).document
        assert set(forked) >= {"agent_id", "run_id", "parent"}
        shown = [
            remora("trace", "packet", name, "--turn", "2", "--json", cwd=project).document
            for name in (new["agent_id"], forked["agent_id"])
        ]
        assert [packet.pop("agent_id") for packet in shown] == [
            new["agent_id"], forked["agent_id"],
        ]  # fmt: skip
        assert shown[0] == shown[1]
        assert remora("trace", "verify", cwd=project).code == 0

    @pytest.mark.slow
    def test_only_attempted_jobs_are_printed(self, poor: Remora, project: Path) -> None:
        poor("analyze", "-o", "steps", "--json", cwd=project)
        retried = poor("retry", "last", "read", cwd=project)
        forked = poor("trace", "fork", "read", "--turn", "1", "--continue", cwd=project)
        for done in (retried, forked):
            assert done.code == 0
            heading, job, *_ = done.out.splitlines()
            assert (heading, job.split()[:2]) == ("src/settings.py", ["checked", "read"])
            assert "__module__" not in done.out
            assert done.out.rstrip().splitlines()[-1].endswith("src/settings.py:read")
        (line, *_) = poor("trace", "show", "read", cwd=project).out.splitlines()[1:]
        assert ", from line " in line  # whose turns it goes on with


class TestFork:
    @pytest.mark.slow
    def test_a_missing_turn(self, ran_alone: Ran) -> None:
        remora, project = ran_alone.remora, ran_alone.root
        done = remora("trace", "fork", "__module__", "--turn", "99", "--json", cwd=project)
        assert done.code == 1
        assert "the stream has turns 0 to" in done.error["hint"]
        gone_on = remora(
            "trace", "fork", "__module__", "--turn", "1", "--continue", "--json", cwd=project
        )
        assert gone_on.code == 0
        assert gone_on.document["job"]["agent_id"] == gone_on.document["agent_id"]
        assert gone_on.document["job"]["status"] in ("verified", "no_change")
        shown = remora("show", "last", "--json", cwd=project).document["jobs"]
        assert gone_on.document["job"] in shown
        unrun = remora("trace", "fork", "__module__", "--turn", "1", cwd=project)
        assert unrun.code == 0
        assert "analyze --resume" in unrun.out
        resumed = remora("analyze", "--resume", "last", cwd=project)
        assert resumed.code == 0
        assert "nothing to resume" in remora("analyze", "--resume", "last", cwd=project).err
