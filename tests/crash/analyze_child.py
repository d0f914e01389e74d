"""Child process that analyzes or decides, and is killed meanwhile.

    python child.py HOME ROOT analyze EVENTS       SIGKILL itself after so many events
    python child.py HOME ROOT VERDICT STEPS [RUN]  SIGKILL itself at that step

A VERDICT is `accept`, `branch` (named fixes), `reject` or `revert`, of all, or `retry` of NODE, in
the newest run or in RUN.

A step is an audited act of Python's: a file opened, renamed, removed, a function of C called.
Without reaching the number it prints how many there were.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.models.protocol import Model
from remora.runs.execution.run import RunRequest
from remora.runs.project import Project
from remora.runs.records.results import own_run
from remora.runs.records.run_listing import list_run_lines
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.session import execute_plan
from remora.usecases.analyze.start_retry import retry_jobs
from remora.usecases.review.revert import revert
from remora.usecases.review.verdicts import accept, reject
from tests.offered_calls import choose
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS

NODE = "part0/m.py:load"


class Fuse:
    """Kills this process when it was counted down."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.seen = 0
        self.armed = False

    def step(self, *_: Any) -> None:
        if not self.armed:
            return
        self.seen += 1
        if self.seen == self.steps:
            os.kill(os.getpid(), signal.SIGKILL)


class Watching:
    """Counts events of agents."""

    def __init__(self, fuse: Fuse) -> None:
        self._fuse = fuse

    def planned(self, run_id: str, plan: object) -> None:
        sys.stdout.write(f"{run_id}\n")
        sys.stdout.flush()

    def began(self, job: object) -> None:
        pass

    def event(self, job: object, event: object) -> None:
        self._fuse.step()

    def ended(self, job: object, result: object) -> None:
        pass

    def judging(self, gate: str) -> None:
        pass


def analyze(caller: Invocation, fuse: Fuse) -> None:
    prepared = prepare(caller, RunRequest(operations=("lint",), concurrency=2))
    fuse.armed = True

    async def run(model: Model) -> None:
        try:
            await execute_plan(prepared, model, Watching(fuse), utc_now)
        finally:
            await model.aclose()

    asyncio.run(run(ScriptedModel(choose(0))))
    prepared.close()


def decide(what: str, caller: Invocation, project: Project, run_id: str) -> None:
    if what == "accept":
        accept(run_id, root=project, every=True)
    elif what == "branch":
        accept(run_id, root=project, git_branch="fixes", every=True)
    elif what == "reject":
        reject(run_id, root=project, every=True)
    elif what == "revert":
        revert(run_id, root=project)
    else:
        assert what == "retry"
        retry_jobs(caller, project, own_run(project, run_id), NODE, feedback="be careful")


def main(home: str, root: str, what: str, steps: str, *more: str) -> None:
    caller = Invocation(
        environ={"HOME": home},
        folder=Path(root),
        root=Path(root),
        flags={"runner.decisions": "model"},
        operations=OPERATIONS,
    )
    fuse = Fuse(int(steps))
    if what == "analyze":
        analyze(caller, fuse)
    else:
        project = open_project(caller)
        run_id = more[0] if more else list_run_lines(project.trace)[-1].run_id
        sys.addaudithook(fuse.step)
        fuse.armed = True
        decide(what, caller, project, run_id)
        fuse.armed = False
    sys.stdout.write(f"{fuse.seen}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
