"""One agent's stream is damaged: its job is told as that, and no other job is the worse for it."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SETTINGS, Done, Ran, step_agent, tree, user_without_weights, write

UNUSED = 'def {0}():\n    """Read."""\n    import re\n\n    return 1\n'
FILES = {f"{name}.py": UNUSED.format(name) for name in ("one", "two")}


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A project after a run of two jobs, whose change sets wait; rules decided all."""
    folder = tmp_path_factory.mktemp("analyzed")
    root = write(folder / "project", {**FILES, **step_agent(), "pyproject.toml": SETTINGS})
    remora = user_without_weights(folder / "home")
    before = tree(root)
    return Ran(remora, root, before, remora("analyze", "-o", "steps", "--json", cwd=root))


@pytest.fixture
def two(analyzed: Ran) -> Ran:
    """The same run each time, in the same place."""
    kept = analyzed.root.parent.with_name(analyzed.root.parent.name + "-kept")
    if not kept.exists():
        shutil.copytree(analyzed.root.parent, kept, symlinks=True)
    shutil.rmtree(analyzed.root.parent)
    shutil.copytree(kept, analyzed.root.parent, symlinks=True)
    return analyzed


def stream_of(ran: Ran, name: str) -> Path:
    jobs = ran.analyzed.document["jobs"]
    (job,) = [job for job in jobs if job["node_id"].endswith(f":{name}")]
    return ran.root / ".agentfs" / "traces" / f"{job['agent_id']}.jsonl"


def no_json(path: Path) -> None:
    """A line in the middle is none any more."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"{]\n", *lines[4:]]))


def no_end(path: Path) -> None:
    """The last line is no event."""
    path.write_bytes(path.read_bytes() + b"{}\n")


def no_beginning(path: Path) -> None:
    path.write_bytes(b"\0\n" + path.read_bytes())


def a_link(path: Path) -> None:
    """Nobody knows what it leads to."""
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def removed(path: Path) -> None:
    """Only the run's stream says that the job was done."""
    path.unlink()


@pytest.fixture(params=[no_json, no_end, no_beginning, a_link, removed])
def damaged(request: pytest.FixtureRequest, two: Ran) -> Ran:
    """The stream of `one` cannot be read."""
    request.param(stream_of(two, "one"))
    return two


def jobs_of(done: Done) -> dict[str, dict[str, Any]]:
    return {job["node_id"].rpartition(":")[2]: job for job in done.document["jobs"]}


def test_a_damaged_job_is_told_beside_the_others_and_is_not_accepted(damaged: Ran) -> None:
    done = damaged("show", "last", "--json")
    assert done.code == 1
    jobs = jobs_of(done)
    one, two = jobs["one"], jobs["two"]
    assert (one["status"], one["review"], one["files_changed"]) == ("error", "", [])
    assert "`remora trace verify`" in one["error"]
    assert two == jobs_of(damaged.analyzed)["two"]
    totals = done.document["totals"]
    assert (totals["jobs"], totals["verified"], totals["error"]) == (2, 1, 1)

    done = damaged("diff", "last", "--json")
    assert done.code == 1
    assert [diff["node_id"] for diff in done.document["diffs"]] == ["node:two.py:two"]
    assert "trace verify" in done.err

    named = damaged("accept", "last", "one", "--json")
    assert (named.code, named.error["code"]) == (1, "stream_damaged")
    assert "trace verify" in named.error["message"]
    assert tree(damaged.root) == damaged.before
    done = damaged("accept", "last", "*.py:*", "--json")
    assert (done.code, done.document["accepted"]) == (1, ["node:two.py:two"])
    (why,) = done.document["damaged"]
    assert "trace verify" in why
    after = tree(damaged.root)
    assert after["one.py"] == damaged.before["one.py"]
    assert b"import re" not in after["two.py"]


def test_people_are_told_and_the_other_can_be_rejected_and_retried(two: Ran) -> None:
    no_json(stream_of(two, "one"))
    told = two("show", "last")
    assert told.code == 1
    assert re.search(r"trace verify steps-\w+", told.out)
    assert "see the changes: `remora diff" in told.out
    assert two("diff", "last", "two").code == 0
    found = two("diff", "last", "one")
    assert (found.code, found.out) == (1, "")
    rejected = two("reject", "last", "--all", "--json")
    assert (rejected.code, rejected.document["rejected"]) == (1, ["node:two.py:two"])
    (why,) = rejected.document["damaged"]
    assert why in rejected.err
    assert two("retry", "last", "one", "--json").error["code"] == "stream_damaged"
    retried = two("retry", "last", "two", "--json")
    assert retried.code == 0, retried.err


def test_a_stream_with_a_wrong_hash_blocks_no_other_change_set(two: Ran) -> None:
    path = stream_of(two, "one")
    path.write_bytes(path.read_bytes().replace(b'"path":"one.py"', b'"path":"two.py"'))
    assert two("show", "last").code == 0  # hashes are looked at by `verify`, and before a write
    done = two("accept", "last", "--all", "--json")
    assert (done.code, done.document["accepted"]) == (1, ["node:two.py:two"])
    assert len(done.document["damaged"]) == 1
    assert tree(two.root)["one.py"] == two.before["one.py"]


def test_a_run_without_damage_says_nothing_of_it(two: Ran) -> None:
    done = two("accept", "last", "--all", "--json")
    assert (done.code, "damaged" in done.document) == (0, False)
