"""`sweep`: one run over several repositories, each of which keeps its own records."""

import re
import shutil
import time
from pathlib import Path
from typing import Any

import click
import pytest

from remora.cli.sweep.sweep_view import sweep_lines
from remora.usecases.sweep.sweep_summary import RepositorySummary, SweepSummary
from tests.cli.conftest import Remora, git, tree, write

UNUSED = "import os\nimport sys\n\n\ndef path() -> str:\n    return sys.prefix\n"
SETTINGS = '[tool.ruff.lint]\nselect = ["F"]\n'
LINT = ("sweep", "run", "repos.yaml", "-o", "lint")


def repository(folder: Path, **files: str) -> Path:
    """A repository with one finding in `a.py`."""
    folder.mkdir(parents=True)
    write(folder, {"a.py": UNUSED, "pyproject.toml": SETTINGS, **files})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


@pytest.fixture
def company(tmp_path: Path) -> Path:
    """A list of a cloned repository, a folder, and a repository that is gone."""
    origin = repository(tmp_path / "origins" / "web")
    repository(tmp_path / "shop")
    lines = f"repositories:\n- file://{origin}\n- path: shop\n- {{name: gone, path: nowhere}}\n"
    write(tmp_path, {"repos.yaml": lines})
    return tmp_path


def states(document: dict[str, Any], key: str = "status") -> dict[str, Any]:
    return {one["name"]: one[key] for one in document["repositories"]}


def reads(remora: Remora, folder: Path, verb: str) -> dict[str, Any]:
    """The document of a command that succeeds."""
    done = remora("sweep", verb, "repos.yaml", "--json", cwd=folder)
    assert done.code == 0, done.err
    document: dict[str, Any] = done.document
    return document


def test_interrupted_jobs_do_not_count_as_failed() -> None:
    one = RepositorySummary(
        name="web",
        root="/web",
        run_id="r",
        status="interrupted",
        jobs=4,
        statuses={"verified": 1, "error": 1, "interrupted": 2},
    )
    _, heads, row, *_ = sweep_lines(
        Path("repos.yaml"), SweepSummary(run_id="r", repositories=(one,))
    )
    assert (click.unstyle(heads).split()[-1], row.split()[-1]) == ("FAILED", "1")


@pytest.mark.slow
def test_a_dry_run_counts_jobs_and_records_nothing(remora: Remora, company: Path) -> None:
    planned = remora(*LINT, "--dry-run", "--json", cwd=company)
    assert planned.code == 1  # a repository failed
    assert states(planned.document, "state") == {
        "web": "planned",
        "shop": "planned",
        "gone": "failed",
    }
    assert planned.document["totals"]["jobs"] == {"lint": 2}
    assert not (company / "repositories" / "web" / ".agentfs").exists()
    shown = remora(*LINT, "--dry-run", cwd=company).out
    assert "2 jobs (lint 2) in 2 repositories, none asks a model" in shown
    assert shown.endswith(" seconds of planning\n")


def test_a_sweep_runs_where_it_can(poor: Remora, company: Path) -> None:
    before = tree(company / "shop")
    ran = poor(*LINT, "--json", cwd=company)
    assert ran.code == 1
    assert states(ran.document) == {"web": "ended", "shop": "ended", "gone": "missing"}
    assert "nowhere is not a folder" in states(ran.document, "error")["gone"]
    assert ran.document["totals"]["pending"] == 2
    assert tree(company / "shop") == before

    # each repository has the run, and can be worked with alone
    shown = poor("show", ran.document["run_id"], "--json", "--root", "shop", cwd=company)
    assert [job["status"] for job in shown.document["jobs"]] == ["verified"]

    # commands that read the run succeed, although a repository has none
    diffs = reads(poor, company, "diff")["repositories"]
    assert [one["name"] for one in diffs] == ["web", "shop"]

    report = ("sweep", "report", "repos.yaml")
    table = poor(*report, cwd=company).out
    assert "/nowhere does not exist\n" in table
    assert "| shop | 1 → 0 | 1 | 0 |" in table
    kinds = reads(poor, company, "report")["totals"]
    assert kinds == [{"what": "findings", "before": 2, "after": 0}]


def test_a_repository_may_replace_a_built_in_agent_if_the_user_allows_it(
    poor: Remora, company: Path
) -> None:
    write(poor.home / "config/remora", {"config.yaml": "agents: {replace: [lint]}\n"})
    assert poor("agents", "new", "lint", cwd=company / "shop").code == 0
    code = "def price(order):\n    # total = order.total()\n    return order.total()\n"
    write(company / "shop", {"price.py": code})
    ran = poor(*LINT, "--json", cwd=company)
    assert states(ran.document, "pending") == {"web": 1, "shop": 1, "gone": 0}
    kinds = reads(poor, company, "report")["totals"]
    assert kinds == [
        {"what": "findings", "before": 1, "after": 0},
        {"what": "lint jobs", "before": 1, "after": 0},
    ]
    shown = poor("show", "last", "--root", "shop", cwd=company).out
    assert "1 of 1 lint job verified" in shown


@pytest.mark.slow
def test_the_next_sweep_takes_only_changes(remora: Remora, company: Path) -> None:
    run_id = remora(*LINT, "--json", cwd=company).document["run_id"]
    again = remora(*LINT, "--json", cwd=company)
    assert "no job was run" in again.err
    assert {one["earlier"] for one in again.document["repositories"]} == {False}
    assert again.document["run_id"] == run_id

    write(company / "shop", {"b.py": UNUSED})
    git(company / "shop", "add", "-A")
    git(company / "shop", "commit", "-q", "-m", "more")
    third = remora(*LINT, "--json", cwd=company).document
    assert {one["name"]: (one["jobs"], one["earlier"]) for one in third["repositories"]} == {
        "web": (1, True),
        "shop": (1, False),
        "gone": (0, False),
    }
    listed = remora("sweep", "list", "repos.yaml", "--json", cwd=company).document["runs"]
    assert [run["run_id"] for run in listed] == [run_id, third["run_id"]]
    full = remora(*LINT, "--full", "--dry-run", "--json", cwd=company).document
    assert full["totals"]["jobs"] == {"lint": 3}


@pytest.mark.slow
def test_records_that_cannot_be_read_are_a_failure(remora: Remora, company: Path) -> None:
    run_id = remora(*LINT, "--json", cwd=company).document["run_id"]
    stream = company / "shop" / ".agentfs" / "runs" / f"{run_id}.jsonl"
    stream.write_text(stream.read_text().replace('"job_end"', "", 1))

    def fails(verb: str, *words: str) -> None:
        done = remora("sweep", verb, "repos.yaml", *words, cwd=company)
        assert done.code == 1, (verb, words, done.out, done.err)

    for words in (("show",), ("diff",), ("report",), ("accept", "last", "--all")):
        fails(*words)
    assert "import os" not in (company / "repositories" / "web" / "a.py").read_text()
    fails("reject", "last", "--all")
    fails("revert", "last")


@pytest.mark.slow
def test_a_sweep_and_its_records_are_shown_with_the_same_words(
    remora: Remora, company: Path
) -> None:
    write(company / "shop", {"remora.yaml": "unknown: 1\n"})
    ran = remora(*LINT, cwd=company)
    assert ran.code == 1
    assert "[1/1] web: 1 verified\n" in ran.err
    shown = remora("sweep", "show", "repos.yaml", cwd=company)
    for output in (ran.out, shown.out):
        rows = re.findall(r"^(web|shop|gone)  +(.+?)  ", output, re.MULTILINE)
        assert rows == [("web", "ended"), ("shop", "not started"), ("gone", "missing")]
    assert re.search(r"^error shop: .*unknown", ran.out, re.MULTILINE)

    # a repository that was swept before, but could not be planned now, is not unchanged
    (company / "shop" / "remora.yaml").unlink()
    assert remora("sweep", "run", "repos.yaml", "--resume", "last", cwd=company).code == 1
    write(company / "origins" / "web", {"b.py": UNUSED})
    git(company / "origins" / "web", "add", "-A")
    git(company / "origins" / "web", "commit", "-q", "-m", "more")
    write(company / "shop", {"remora.yaml": "unknown: 1\n"})
    assert re.search("^shop +not started ", remora(*LINT, cwd=company).out, re.MULTILINE)

    shutil.rmtree(company / "shop" / ".agentfs")
    (company / "shop" / ".agentfs").symlink_to(company)
    for words in (LINT, ("sweep", "show", "repos.yaml")):
        shown = remora(*words, cwd=company)
        assert shown.code == 1
        assert re.search("^shop +unreadable ", shown.out, re.MULTILINE)


def test_a_repository_whose_records_cannot_be_opened_is_a_failure_without_any_run(
    remora: Remora, company: Path
) -> None:
    (company / "shop" / ".agentfs").symlink_to(company)
    done = remora("sweep", "list", "repos.yaml", cwd=company)
    assert done.code == 1
    assert "shop: " in done.err


@pytest.mark.slow
def test_changes_are_accepted_onto_a_branch_per_operation(remora: Remora, company: Path) -> None:
    remora(*LINT, cwd=company)
    for clone in (company / "shop", company / "repositories" / "web"):
        git(clone, "config", "user.name", "t")
        git(clone, "config", "user.email", "t@localhost")
    branches = ("--if", "verified", "--git-branch", "remora/{operation}")
    done = remora("sweep", "accept", "repos.yaml", "last", *branches, "--json", cwd=company)
    assert done.code == 0
    assert {
        (one["name"], one["branch"], one["error"]) for one in done.document["repositories"]
    } == {
        ("gone", None, f"{company / 'nowhere'} does not exist"),
        ("web", "remora/lint", None),
        ("shop", "remora/lint", None),
    }
    for clone in (company / "shop", company / "repositories" / "web"):
        assert "Remora-Trace: " in git(clone, "log", "-1", "--format=%B", "remora/lint")
        assert "import os" not in git(clone, "show", "remora/lint:a.py")
        assert not git(clone, "status", "--porcelain")
    shown = remora("sweep", "show", "repos.yaml", "--json", cwd=company).document
    assert (shown["totals"]["pending"], shown["totals"]["accepted"]) == (0, 2)


@pytest.mark.slow
def test_a_repository_that_was_not_planned_is_planned_at_resume(
    remora: Remora, company: Path
) -> None:
    run_id = remora(*LINT, "--json", cwd=company).document["run_id"]
    repository(company / "nowhere")
    resumed = remora("sweep", "run", "repos.yaml", "--resume", "last", "--json", cwd=company)
    assert resumed.code == 0, resumed.err
    assert states(resumed.document) == dict.fromkeys(("web", "shop", "gone"), "ended")
    assert {one["run_id"] for one in resumed.document["repositories"]} == {run_id}


@pytest.mark.slow
def test_many_jobs_need_a_yes_and_the_plan_is_kept(remora: Remora, tmp_path: Path) -> None:
    repository(tmp_path / "large", **{f"m{number}.py": UNUSED for number in range(200)})
    write(tmp_path, {"repos.yaml": "repositories: [large]\n"})
    refused = remora(*LINT, "--json", cwd=tmp_path)
    assert refused.code == 2
    assert "exceeds the limit" in refused.error["message"]
    shown = remora("sweep", "show", "repos.yaml", "--json", cwd=tmp_path)
    (one,) = shown.document["repositories"]
    assert (one["status"], one["jobs"], one["statuses"]) == ("interrupted", 201, {})
    assert f"--resume {one['run_id']}" in refused.error["hint"]


@pytest.mark.slow
def test_uncommitted_changes_in_a_clone_are_kept(remora: Remora, company: Path) -> None:
    remora(*LINT, "--dry-run", cwd=company)
    clone = company / "repositories" / "web"
    write(clone, {"a.py": "x = 1\n"})
    mentioned = remora(*LINT, "--dry-run", cwd=company)
    assert "planned web: nothing to do, with uncommitted changes" in mentioned.err
    assert "uncommitted changes in web: jobs work on the files as they are" in mentioned.out
    write(company / "origins" / "web", {"b.py": UNUSED})
    git(company / "origins" / "web", "add", "-A")
    git(company / "origins" / "web", "commit", "-q", "-m", "more")
    planned = remora(*LINT, "--dry-run", "--json", cwd=company).document
    assert planned["totals"]["planning_seconds"] > 0
    assert "has uncommitted changes" in states(planned, "error")["web"]
    assert (clone / "a.py").read_text() == "x = 1\n"


@pytest.mark.slow
def test_an_interrupted_sweep_is_resumed(remora: Remora, tmp_path: Path) -> None:
    for name in ("one", "two"):
        repository(tmp_path / name, **{f"m{number}.py": UNUSED for number in range(40)})
    write(tmp_path, {"repos.yaml": "repositories: [one, two]\n"})
    driver = remora.start(*LINT, "--yes", "--json", cwd=tmp_path)
    second = tmp_path / "two" / ".agentfs" / "traces"
    end = time.monotonic() + 60
    while not [*second.rglob("*.jsonl*")]:
        assert time.monotonic() < end
        time.sleep(0.01)
    driver.terminate()
    driver.communicate(timeout=30)
    shown = remora("sweep", "show", "repos.yaml", "--json", cwd=tmp_path).document
    assert states(shown)["two"] == "interrupted"
    resumed = remora("sweep", "run", "repos.yaml", "--resume", "last", "--json", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert states(resumed.document) == {"one": "ended", "two": "ended"}
    assert resumed.document["totals"]["pending"] == 82


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sweep", "run", "repos.yaml", "--root", "shop"), "cannot be combined with --root"),
        (("sweep", "run", "repos.yaml", "--full", "--resume", "last"), "--full requires a new run"),
        (("sweep", "show", "repos.yaml", "--root", "shop"), "cannot be combined with --root"),
        (("sweep", "show", "repos.yaml"), "no sweep of these repositories is recorded"),
        (("sweep", "accept", "repos.yaml", "last"), "nothing is selected"),
        (("sweep", "run", "missing.yaml"), "missing.yaml: no such file"),
    ],
)
def test_what_does_not_fit_is_refused(
    remora: Remora, company: Path, words: tuple[str, ...], message: str
) -> None:
    refused = remora(*words, "--json", cwd=company)
    assert refused.code in {1, 2}
    assert message in refused.error["message"]
