"""The main job on the source of other people's packages, with the real model, and its proof."""

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_model
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.execution.run import NoObserver
from remora.runs.planning.run_request import RunRequest
from remora.runs.records.results import read_run
from remora.runs.review.accept_and_reject import accept
from remora.tools.tree import ToolTree
from remora.trace.stream.line_builder import utc_now
from remora.trace.verify.folder_check import verify_all
from remora.usecases.analyze.execute_plan import execute_plan
from remora.usecases.analyze.prepare_run import prepare

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
WISH = RunRequest(operations=("lint",), unsafe_fixes=True, max_nodes=12)
RULES = '[tool.ruff.lint]\nselect = ["E", "F", "I", "UP", "B", "SIM", "C4", "RET", "PIE"]\n'


def _copied(name: str, root: Path) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).parent
    shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "ruff.toml").write_text(RULES.replace("[tool.ruff.lint]", "[lint]"))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "copied"]):
        subprocess.run([*git, *words], cwd=root, check=True)


def _texts(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py")}


def _findings(root: Path) -> int:
    return len(ToolTree(root).ruff.check(sorted(_texts(root))))


async def _run(caller: Invocation, prepared: PreparedRun) -> None:
    model = connect_model(caller, prepared.project.config)
    try:
        await execute_plan(prepared, model, NoObserver(), utc_now)
    finally:
        await model.aclose()


@pytest.mark.parametrize("name", ["pluggy", "execnet"])
def test_it_ends_with_fewer_findings_and_a_proof(name: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    _copied(name, root)
    before, texts = _findings(root), _texts(root)

    caller = Invocation(
        environ={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}, folder=root, root=root
    )
    prepared = prepare(caller, WISH)
    assert prepared.plan.nodes >= 30
    assert len(prepared.plan.jobs) >= 3
    asyncio.run(_run(caller, prepared))
    prepared.close()
    assert _texts(root) == texts, "nothing is touched before accept"
    jobs = read_run(prepared.project, prepared.run_id).jobs
    statuses = Counter(job.status for job in jobs)
    assert statuses["error"] == statuses["interrupted"] == 0
    assert max(job.max_packet_tokens for job in jobs) <= 600

    done = accept(prepared.project, prepared.run_id, [], every=True)
    assert len(done.accepted) == statuses["verified"] > 0
    assert done.conflicts == []
    assert _findings(root) < before
    subprocess.run([sys.executable, "-m", "compileall", "-q", name], cwd=root, check=True)
    code = f"import {name}; assert {name}.__file__.startswith({str(root)!r})"
    subprocess.run(
        [sys.executable, "-c", code], cwd=root, env={"PYTHONPATH": str(root)}, check=True
    )
    report = verify_all(prepared.project.trace)
    assert report.ok, report.as_json()
