"""A run that is killed while gates search for a culprit, and resumed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import remora
from remora.bootstrap.open_project import invocation_for, open_project
from remora.bootstrap.operations import BUILT_IN
from tests.cli.conftest import write
from tests.judges.gates.plant.operation import OPERATION, PLANTS

REPOSITORY = Path(__file__).parents[3]
CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import remora
from remora.bootstrap.operations import BUILT_IN
from remora.judges.gates.measured_gate import Measurements
from tests.judges.gates.plant.operation import OPERATION

asked = []
measure = Measurements.measure

def kill(*args):
    asked.append(args)
    if len(asked) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(*args)

Measurements.measure = kill
remora.analyze(root=sys.argv[2], operations=["plant"], known=BUILT_IN | OPERATION)
"""


@pytest.mark.slow
@pytest.mark.parametrize("measurement", [1, 2, 4])
def test_a_run_that_is_killed_in_a_bisection_is_judged_when_it_is_resumed(
    user: Path, measurement: int
) -> None:
    """The kills come at the first measurement, at that of all changes, and in the bisection."""
    names = ["a.py", "b.py", "c.py", "d.py"]
    plants = {name: [("return 1", "return 1 + 1")] for name in names}
    plants["b.py"] = [("return 1", "return 1 == None")]
    files = dict.fromkeys(names, "def f():\n    return 1\n")
    write(user, {**files, "pyproject.toml": "[tool.ruff]\n", PLANTS: json.dumps(plants)})
    words = [sys.executable, "-c", CHILD, str(REPOSITORY), str(user), str(measurement)]
    killed = subprocess.run(words, env={**os.environ}, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    project = open_project(invocation_for(user, {}, BUILT_IN | OPERATION))
    (run_id,) = (path.stem for path in (project.trace.path / "runs").glob("*.jsonl"))
    view = remora.resume(run_id, root=project).view
    assert view.gates is not None
    reviews = [(job.node_id.split(":")[1], job.review.state) for job in view.jobs]
    assert sorted(reviews) == [
        ("a.py", "pending"), ("b.py", "taken_out"), ("c.py", "pending"), ("d.py", "pending"),
    ]  # fmt: skip
    (reason,) = (text for job in view.jobs for text in job.proposal.reasons)
    assert reason.startswith("taken out by ruff (f, line 2): b.py: ")
    assert [job.proposal.proof for job in view.jobs if job.review.state == "pending"] == [
        "checked"
    ] * 3
