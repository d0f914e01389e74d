"""A sweep of five real packages with all operations is the same on all engines."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import step_agent, write
from tests.cli.engines.company import Company
from tests.cli.engines.ray_nodes import RayCluster

PACKAGES = ("attr", "filelock", "h11", "iniconfig", "sortedcontainers")
OPERATIONS = ("lint", "docstring", "test", "types")
ASKING = ("analyze", "-o", "steps", "--max-nodes", "4", "--seed", "1")
"""Runs an operation that asks the model, which no built-in one needs to do here."""
CHECK = Path(__file__).parents[2] / "independent" / "check_streams.py"
SWEEP = (
    "sweep", "run", "repos.yaml", "--full", "--yes", "--seed", "1",
    *(word for operation in OPERATIONS for word in ("-o", operation)),
)  # fmt: skip


@pytest.fixture
def company(tmp_path: Path, dsn: str) -> Iterator[Company]:
    """Five packages from the environment, each in a repository, and the real embedded model."""
    models = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "remora" / "models"
    with ExitStack() as stack:
        company = Company(tmp_path, dsn, stack)
        del company.environ["REMORA_MODEL"]
        company.environ["REMORA_MODEL__PROVIDER"] = "embedded"
        (tmp_path / "cache" / "remora").mkdir(parents=True, exist_ok=True)
        (tmp_path / "cache" / "remora" / "models").symlink_to(models)
        for name in PACKAGES:
            make_repository(company, tmp_path / name)
        listed = json.dumps([f"../{name}" for name in PACKAGES])
        (company.project / "repos.yaml").write_text(f"repositories: {listed}\n")
        yield company


def make_repository(company: Company, folder: Path) -> None:
    found = find_spec(folder.name)
    assert found is not None
    assert found.origin is not None
    ignored = shutil.ignore_patterns("__pycache__", "tests")
    shutil.copytree(Path(found.origin).parent, folder / folder.name, ignore=ignored)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "{folder.name}"\nversion = "1"\n')
    write(folder, step_agent())
    (folder / "remora.yaml").write_text(f"python: {sys.executable}\n")  # to run its tests
    company.git("init", "-q", str(folder))
    here = ("-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b")
    company.git(*here, "add", "-A")
    company.git(*here, "commit", "-qm", folder.name)


def results(company: Company, name: str, run_id: str) -> dict[str, tuple[str, str]]:
    """Return the status and the diff of each job of a repository."""
    root = ("--root", str(company.project.parent / name))
    jobs = company.remora("show", run_id, *root)["jobs"]
    diffs = company.remora("diff", run_id, *root)["diffs"]
    shown = {f"{one['operation']} {one['node_id']}": one["diff"] for one in diffs}
    keys = {f"{job['operation']} {job['node_id']}": job["status"] for job in jobs}
    return {key: (status, shown.get(key, "")) for key, status in keys.items()}


def sweep(company: Company, *words: str) -> dict[str, Any]:
    """Return the results of a sweep, and of a run that asks the model."""
    ran = company.remora(*SWEEP, *words, limit_s=900)
    assert {one["status"] for one in ran["repositories"]} == {"ended"}
    root = ("--root", str(company.project.parent / "h11"))
    asked = company.remora(*ASKING, *words, *root, limit_s=900)["run_id"]
    jobs = company.remora("show", asked, *root)["jobs"]
    decided_by = [job["decided_by"] for job in jobs]
    assert sum(each["model"] + each["fallback"] for each in decided_by) > 0
    found = {name: results(company, name, ran["run_id"]) for name in PACKAGES}
    return found | {"asked": results(company, "h11", asked)}


def check_independently(company: Company, folder: Path) -> None:
    """Export all streams of a repository, and check them with a program that shares no code."""
    root = ("--root", str(company.project.parent / folder.name))
    exported = company.project.parent / f"{folder.name}.jsonl"
    company.remora("trace", "export", "--all", "--format", "jsonl", "-o", str(exported), *root)
    folder.mkdir(parents=True)
    company.environ["REMORA_RUNNER__MEMORY__TRACE_STORE"] = "jsonl"
    company.remora("trace", "import", str(exported), "--root", str(folder))
    company.environ["REMORA_RUNNER__MEMORY__TRACE_STORE"] = "postgres"
    for kind, digest, content in company.rows("SELECT kind, digest, content FROM contents"):
        place = folder / ".agentfs" / kind / digest.hex()[:2]
        place.mkdir(parents=True, exist_ok=True)
        (place / digest.hex()).write_bytes(content)
    subprocess.run([sys.executable, str(CHECK), str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_five_packages(company: Company, ray_cluster: RayCluster) -> None:
    at_home = sweep(company)
    company.start("worker")
    assert sweep(company, "--engine", "queue") == at_home
    company.environ |= ray_cluster.settings
    with ExitStack() as stack:
        stack.callback(ray_cluster.remove_nodes)
        ray_cluster.add_node(company.environ)
        assert sweep(company, "--engine", "ray") == at_home
    assert {key.split()[0] for jobs in at_home.values() for key in jobs} == {*OPERATIONS, "steps"}
    company.check_streams()
    for name in PACKAGES:
        check_independently(company, company.project.parent / "files" / name)
