"""A sweep of several repositories whose jobs are run by workers."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.engines.company import Company

NAMES = ("shop", "branch-office")


@pytest.fixture
def company(tmp_path: Path, dsn: str) -> Iterator[Company]:
    """Two repositories with different histories, and a list of them."""
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    with ExitStack() as stack:
        company = Company(tmp_path, dsn, stack)
        other = tmp_path / NAMES[1]
        subprocess.run(["git", "clone", "-q", company.project, other], check=True)
        company.git("-C", str(other), "checkout", "-q", "--orphan", "own")
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        company.git("-C", str(other), *who, "commit", "-qm", "own history")
        (company.project / "repos.yaml").write_text(
            "repositories: [{path: ., name: shop}, ../branch-office]\n"
        )
        yield company


@pytest.mark.slow
def test_its_changes_are_those_of_a_sweep_at_home(company: Company) -> None:
    sweep = ("sweep", "run", "repos.yaml", "-o", "lint", "--yes", "--seed", "1")
    at_home = company.remora(*sweep)
    company.start("worker")
    away = company.remora(*sweep, "--full", "--engine", "queue")
    assert away["run_id"] != at_home["run_id"]
    assert [one["statuses"] for one in away["repositories"]] == [
        one["statuses"] for one in at_home["repositories"]
    ]
    for name in NAMES:
        first, second = (changes(company, name, run["run_id"]) for run in (at_home, away))
        assert first
        assert first == second
    company.check_streams()


@pytest.mark.slow
def test_two_clones_with_the_same_history_are_not_mixed_up(company: Company) -> None:
    """They have the same records, so only one of them is swept."""
    copy = company.project.parent / "copy"
    subprocess.run(["git", "clone", "-q", company.project, copy], check=True)
    (company.project / "repos.yaml").write_text("repositories: [{path: ., name: shop}, ../copy]\n")
    swept = company.remora("sweep", "run", "repos.yaml", "-o", "lint", "--yes", code=1)
    errors = [one["error"] for one in swept["repositories"] if one["error"]]
    assert len(errors) == 1, swept
    assert re.search("is already recorded for this project|is being written", errors[0])
    assert sorted(one["status"] for one in swept["repositories"]) == ["ended", "not started"]


def changes(company: Company, name: str, run: str) -> dict[str, str]:
    """Return the diff of each change set of a repository."""
    root = str(company.project.parent / name)
    found = company.remora("diff", run, "--root", root)
    return {each["node_id"]: json.dumps(each["diff"]) for each in found["diffs"]}
