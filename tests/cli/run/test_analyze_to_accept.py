"""A whole run: analyze, show, diff, accept, verify."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Remora, git, tree

JOB_KEYS = {
    "agent_id", "operation", "node_id", "status", "turns", "decided_by", "max_packet_tokens",
    "raw_bytes", "files_changed", "error",
}  # fmt: skip
TOTALS = {"jobs", "verified", "no_change", "failed", "error", "interrupted", "skipped"}
HEAD = {"count", "hash"}


def test_analyze_touches_nothing_and_shows_every_job(ran: Ran) -> None:
    assert ran.analyzed.code == 0, ran.analyzed.err
    document = ran.analyzed.document
    assert set(document) == {"run_id", "root", "model", "rules", "jobs", "not_planned", "totals"}
    assert document["root"] == str(ran.root)
    assert set(document["totals"]) >= TOTALS
    assert document["totals"]["jobs"] == document["totals"]["verified"] == 2
    assert [job["node_id"] for job in document["jobs"]] == [
        "node:src/settings.py:__module__",
        "node:src/settings.py:read",
    ]
    assert all(set(job) >= JOB_KEYS for job in document["jobs"])
    assert tree(ran.root) == ran.before
    # without a terminal, progress is one line per job
    lines = [line for line in ran.analyzed.err.splitlines() if line.startswith("[")]
    assert [line[:5] for line in lines] == ["[1/2]", "[2/2]"]
    assert "\x1b" not in ran.analyzed.err


def test_show_prints_the_document_of_analyze_and_what_to_type_next(ran: Ran) -> None:
    assert ran("show", "last", "--json").document == ran.analyzed.document
    begin = ran.analyzed.document["run_id"][:15]
    assert ran("--json", "show", begin).document == ran.analyzed.document
    text = ran("show", "last").out
    run_id = ran.analyzed.document["run_id"]
    assert "  checked  read    fixes E722" in text
    assert "\nproposed: 3 of 3 findings fixed" in text
    assert f"see the changes: `remora diff {run_id}`\n" in text


def test_runs_counts_what_waits_and_a_feedback_that_is_too_long_decides_nothing(ran: Ran) -> None:
    done = ran("reject", "last", "--all", "--feedback", "x" * 70_000, "--json")
    assert done.code == 2
    assert "10,000" in done.error["message"]
    (run,) = ran("runs", "--json").document["runs"]
    assert set(run) == {
        "run_id", "started", "status", "jobs", "operations", "model", "failed",
        "pending", "accepted", "rejected", "reverted", "conflicts", "results", "where", "rules",
    }  # fmt: skip
    assert (run["status"], run["jobs"], run["pending"], run["accepted"]) == ("ended", 2, 2, 0)
    assert run["conflicts"] == 0


def test_diffs_are_documents_and_patches(ran: Ran) -> None:
    for command in ("show", "diff", "report"):  # without a run, of the newest
        assert ran(command, "--json").document == ran(command, "last", "--json").document
    document = ran("diff", "last", "read", "src/settings.py:*", "--json").document
    assert document["run_id"] == ran.analyzed.document["run_id"]
    module, read = document["diffs"]
    assert module["node_id"].endswith(":__module__")
    assert (read["agent_id"], read["review"]) == (ran.job["agent_id"], "pending")
    assert "-    except:" in read["diff"]
    for nodes in (["src/settings.py:__module__"], []):  # also neighbours of two change sets
        done = ran("diff", "last", *nodes)
        check = ["git", "apply", "--check", "-"]
        subprocess.run(check, cwd=ran.root, input=done.out, text=True, check=True)
        assert "-import os" in done.out
    stat = ran("diff", "last", "--stat").out
    assert (" src/settings.py | " in stat, "insertion" in stat) == (True, True)


@pytest.mark.slow
def test_reject_revert_and_accept_write_what_was_verified(poor: Remora, project: Path) -> None:
    assert poor("analyze", "-o", "steps", "--quiet", "--max-nodes", "1", cwd=project).code == 0
    done = poor("reject", "last", "--all", "--feedback", "not now", "-v", cwd=project)
    assert done.code == 0
    (stream,) = (project / ".agentfs" / "runs").glob("*.jsonl")
    last = json.loads(stream.read_text().splitlines()[-1])
    recorded = f"entry {last['seq'] + 1}, hash {last['hash']}"
    assert done.out.splitlines()[-1].endswith(f": {recorded}")
    assert done.out.splitlines()[-2].endswith(f"run `remora revert {stream.stem} FILE`")
    assert last["data"]["feedback"] == "not now"
    assert poor("show", "last", "--json", cwd=project).document["jobs"][0]["review"] == "rejected"

    assert poor("revert", "last", "src/settings.py", cwd=project).code == 0
    done = poor("accept", "--untested", "last", "--all", "--json", cwd=project)
    assert done.code == 0, done.err
    document = done.document
    assert set(document) == {"run_id", "accepted", "conflicts", "head"}
    assert document["accepted"] == ["node:src/settings.py:__module__"]
    assert document["conflicts"] == []
    assert set(document["head"]) == HEAD
    assert "import os" not in (project / "src" / "settings.py").read_text()
    assert git(project, "status", "--short").split() == ["M", "src/settings.py"]

    verified = poor("trace", "verify", "--all", "--json", cwd=project)
    assert verified.code == 0, verified.out
    (run,) = [stream for stream in verified.document["streams"] if "run_id" in stream]
    assert run["head"] == document["head"]


@pytest.mark.slow
def test_an_edit_of_the_same_lines_is_a_conflict_and_stays(poor: Remora, project: Path) -> None:
    poor("analyze", "-o", "steps", "--quiet", "--max-nodes", "1", cwd=project)
    settings = project / "src" / "settings.py"
    settings.write_text(settings.read_text().replace("import os", "import os.path"))
    mine = tree(project)
    done = poor("accept", "--untested", "last", "--all", "--json", cwd=project)
    assert done.code == 1
    (conflict,) = done.document["conflicts"]
    assert set(conflict) == {"node_id", "path", "detail"}
    assert conflict["path"] == "src/settings.py"
    assert tree(project) == mine
    # people are told where, and what to type next
    told = poor("show", "last", cwd=project).out
    assert conflict["detail"] in told
    assert "remora analyze -o steps --node src/settings.py" in told
    again = poor("accept", "--untested", "last", "--all", cwd=project)
    assert "or: remora analyze -o steps --node src/settings.py" in again.out
    (_, listed) = poor("runs", cwd=project).out.splitlines()
    assert listed.split()[-4:] == ["steps", "none", "0", "1"]


def test_a_plan_needs_no_model_runs_nothing_and_can_be_narrowed(
    poor: Remora, project: Path
) -> None:
    plan = ("analyze", "-o", "steps", "--dry-run", "--json")
    done = poor(*plan, cwd=project)
    assert done.code == 0, done.err
    document = done.document
    assert set(document) == {
        "run_id", "root", "model", "rules", "judges", "jobs", "not_planned", "totals", "seconds",
    }  # fmt: skip
    assert [job["status"] for job in document["jobs"]] == ["planned", "planned"]
    assert all(set(job) >= JOB_KEYS for job in document["jobs"])
    assert not (project / ".agentfs").exists()

    settings, other = project / "src" / "settings.py", project / "src" / "other.py"
    settings.write_text(settings.read_text().replace("in a file", "in this file"))
    git(project, "commit", "-qam", "second")
    other.write_text("import os\n")
    git(project, "add", "-A")
    git(project, "commit", "-qam", "third")
    other.write_text("import os\nimport sys\n")
    for words, nodes in (
        ("--node src/*:__module__", ["other.py:__module__", "settings.py:__module__"]),
        ("--changed", ["other.py:__module__"]),
        ("--changed=HEAD~2 --node read", ["settings.py:read"]),
    ):
        planned = poor(*plan, *words.split(), cwd=project).document
        assert [job["node_id"].rpartition("/")[2] for job in planned["jobs"]] == nodes, words


@pytest.mark.slow
def test_older_runs_that_wait_are_not_forgotten(poor: Remora, project: Path) -> None:
    for node in ("src/settings.py", "src/settings.py:read"):
        assert poor("analyze", "-o", "steps", "--quiet", "--node", node, cwd=project).code == 0
    assert "pending changes in 1 older run;" in poor("runs", cwd=project).out
