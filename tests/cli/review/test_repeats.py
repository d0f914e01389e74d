"""What was rejected stays rejected, and what several runs propose is pending once."""

from pathlib import Path
from typing import Any

import pytest

import remora as library
from tests.cli.conftest import Remora, write

UNUSED = "import os\n\n\ndef load():\n    return 1\n"
COMPARED = """def is_nothing(value):
    return value == None


def is_something(value):
    return value != None
"""
RULES = "[tool.ruff.lint]\nselect = ['F', 'E']\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    write(root, {"a.py": UNUSED, "b.py": COMPARED, "pyproject.toml": RULES, ".git/HEAD": ""})
    return root


def analyze(shop: Path, poor: Remora, *args: str) -> dict[str, Any]:
    """Analyze with unsafe fixes, and return the jobs by file."""
    done = poor("analyze", "-o", "lint", "--unsafe-fixes", "--json", *args, cwd=shop)
    assert done.code == 0, done.err
    return {job["node_id"].split(":")[1]: job for job in done.document["jobs"]}


def states(jobs: dict[str, Any]) -> dict[str, str]:
    return {path: job["review"] for path, job in jobs.items()}


@pytest.mark.slow
def test_a_rejected_change_stays_rejected_with_its_reason(shop: Path, poor: Remora) -> None:
    analyze(shop, poor)
    poor("reject", "last", "a.py", "--feedback", "it is public", cwd=shop)
    again = analyze(shop, poor)
    assert states(again) == {"a.py": "rejected", "b.py": "pending"}
    assert again["a.py"]["reasons"] == ["rejected: it is public"]
    assert "rejected: it is public" in poor("show", cwd=shop).out
    poor("accept", "--untested", "last", "--all", cwd=shop)
    assert (shop / "a.py").read_text() == UNUSED
    assert states(analyze(shop, poor)) == {"a.py": "rejected"}  # the third run knows it, too


@pytest.mark.slow
def test_it_comes_back_when_its_function_changes(shop: Path, poor: Remora) -> None:
    analyze(shop, poor)
    poor("reject", "last", "b.py", cwd=shop)
    write(shop, {"b.py": f"LIMIT = 3\n\n\n{COMPARED}"})
    moved = analyze(shop, poor)["b.py"]
    told = ["rejected: the same change was rejected before"]
    assert (moved["review"], moved["reasons"]) == ("rejected", told)
    write(shop, {"b.py": COMPARED.replace("is_nothing(value)", "is_nothing(value, more)")})
    assert analyze(shop, poor)["b.py"]["review"] == "pending"


@pytest.mark.slow
def test_it_comes_back_with_another_version_of_its_rules(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reviews() -> list[str]:
        run = library.analyze(root=shop, operations=["lint"])
        return [job.review.state for job in run.view.jobs if job.node_id.startswith("node:a.py")]

    assert reviews() == ["pending"]
    library.reject("last", every=True, root=shop)
    assert reviews() == ["rejected"]
    monkeypatch.setattr("importlib.metadata.version", {"ruff": "99.0"}.get)
    assert reviews() == ["pending"]


@pytest.mark.slow
def test_a_rejected_rule_stays_away_and_the_rest_is_pending(shop: Path, poor: Remora) -> None:
    write(shop, {"b.py": f"import os\n\n\n{COMPARED}"})
    analyze(shop, poor, "b.py")
    poor("reject", "last", "b.py", "--rule", "F401", "--feedback", "it is public", cwd=shop)
    job = analyze(shop, poor, "b.py")["b.py"]
    assert (job["review"], job["rest"]) == ("pending", [2, 3])
    assert "import os" not in poor("diff", "last", cwd=shop).out
    poor("accept", "--untested", "last", "--all", cwd=shop)
    text = (shop / "b.py").read_text()
    assert text.startswith("import os")
    assert "is not None" in text


@pytest.mark.slow
def test_an_undone_rejection_does_not_count(shop: Path) -> None:
    library.analyze(root=shop, operations=["lint"])
    library.reject("last", every=True, root=shop)
    library.undo("last", "a.py", root=shop)
    jobs = library.analyze(root=shop, operations=["lint"]).view.jobs
    assert [job.review.state for job in jobs] == ["pending"]


@pytest.mark.slow
@pytest.mark.parametrize("run", [0, -1])
def test_a_rejection_is_withdrawn_from_all_runs(shop: Path, poor: Remora, run: int) -> None:
    """In the run where a person decided, or in a later one."""
    for verdict in ("reject", "diff", "diff"):
        analyze(shop, poor, "a.py")
        poor(verdict, "last", "a.py", cwd=shop)
    runs = [each["run_id"] for each in poor("runs", "--json", cwd=shop).document["runs"]]
    why = poor("trace", "why", "a.py", cwd=shop).out
    assert "passed all checks" in why
    done = poor("revert", runs[run], "a.py", cwd=shop)
    assert done.out.startswith("pending again 1 change:\n  a.py\n")
    assert states(analyze(shop, poor, "a.py")) == {"a.py": "pending"}
    assert [each["pending"] for each in poor("runs", "--json", cwd=shop).document["runs"]] == [
        0,
        0,
        0,
        1,
    ]


@pytest.mark.slow
def test_the_newest_of_equal_proposals_is_pending(shop: Path, poor: Remora) -> None:
    analyze(shop, poor)
    first = poor("show", "--json", cwd=shop).document["run_id"]
    poor("accept", "--untested", "last", "b.py", cwd=shop)
    write(shop, {"c.py": UNUSED})
    assert states(analyze(shop, poor)) == {"a.py": "pending", "c.py": "pending"}
    newest = poor("show", "--json", cwd=shop).document["run_id"]
    older = poor("show", first, cwd=shop).out
    assert "1 withdrawn, 1 accepted" in older
    assert f"withdrawn: proposed again by run {newest}" in older
    assert "also pending" not in poor("show", cwd=shop).out
    assert [run["pending"] for run in poor("runs", "--json", cwd=shop).document["runs"]] == [0, 2]


def test_an_older_change_set_with_more_in_it_stays_pending(shop: Path, poor: Remora) -> None:
    analyze(shop, poor, "b.py")
    narrow = analyze(shop, poor, "--node", "b.py:is_nothing")
    assert states(narrow) == {"b.py": "pending"}
    assert [run["pending"] for run in poor("runs", "--json", cwd=shop).document["runs"]] == [1, 1]
