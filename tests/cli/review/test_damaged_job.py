"""One agent's stream is damaged: its job is told as that, and no other job is the worse for it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SETTINGS, Done, Ran, step_agent, tree
from tests.cli.review.four_changes import Four

UNUSED = 'def {0}():\n    """Read."""\n    import re\n\n    return 1\n'
FILES = {f"{name}.py": UNUSED.format(name) for name in ("one", "two")}


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Four:
    own = {**FILES, **step_agent(), "pyproject.toml": SETTINGS}
    return Four(tmp_path_factory.mktemp("analyzed"), own)


@pytest.fixture
def two(four: Four) -> Ran:
    """A project after a run of two jobs, whose change sets wait; rules decided all."""
    four.again()
    return Ran(four.remora, four.root, tree(four.root), four.analyzed)


def stream_of(ran: Ran, name: str) -> Path:
    jobs = ran.analyzed.document["jobs"]
    (job,) = [job for job in jobs if job["node_id"].endswith(f":{name}")]
    return ran.root / ".agentfs" / "traces" / f"{job['agent_id']}.jsonl"


def no_json(path: Path) -> None:
    """A line in the middle is none any more."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"{]\n", *lines[4:]]))


def a_link(path: Path) -> None:
    """Nobody knows what it leads to."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no JSON": no_json,
    "the last line is no event": lambda path: path.write_bytes(path.read_bytes() + b"{}\n"),
    "no beginning": lambda path: path.write_bytes(b"\0\n" + path.read_bytes()),
    "a link": a_link,
    "removed": Path.unlink,  # only the run's stream says that the job was done
}


OFTEN = {"no JSON", "removed"}


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name not in OFTEN)) for name in DAMAGES]
)
def damaged(request: pytest.FixtureRequest, two: Ran) -> Ran:
    """The stream of `one` cannot be read."""
    DAMAGES[request.param](stream_of(two, "one"))
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

    named = damaged("accept", "--untested", "last", "one", "--json")
    assert (named.code, named.error["code"]) == (1, "stream_damaged")
    assert "trace verify" in named.error["message"]
    assert tree(damaged.root) == damaged.before
    done = damaged("accept", "--untested", "last", "*.py:*", "--json")
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
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"path":"one.py"', b'"path":"two.py"'))
    assert two("show", "last").code == 0  # hashes are looked at by `verify`, and before a write
    done = two("accept", "--untested", "last", "--all", "--json")
    assert (done.code, done.document["accepted"]) == (1, ["node:two.py:two"])
    assert len(done.document["damaged"]) == 1
    assert tree(two.root)["one.py"] == two.before["one.py"]
    path.write_bytes(whole)
    done = two("accept", "--untested", "last", "--all", "--json")
    assert (done.code, done.document["accepted"]) == (0, ["node:one.py:one"])
    assert "damaged" not in done.document, "a run without damage says nothing of it"
