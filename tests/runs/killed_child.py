"""A process that analyzes or goes on with a run, and kills itself on the way.

    python killed_child.py HOME ROOT analyze|resume TYPE NUMBER

SIGKILL comes after the n-th event of that type (`any`: of all) is in its stream.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.memory.events import Event
from remora.models.protocol import Model
from remora.runs.execution.run import NoObserver, RunRequest
from remora.runs.records.run_record import read_own_record
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.resume_run import prepare_resume, run_remaining
from remora.usecases.analyze.session import execute_plan
from tests.runs.conftest import eager, renamed
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS

RUN = "run-1"


class Killing(NoObserver):
    """Counts events, and kills."""

    def __init__(self, kind: str, number: int) -> None:
        self._kind = kind
        self._left = number

    def event(self, job: object, event: object) -> None:
        assert isinstance(event, Event)
        self._left -= self._kind in ("any", event.type)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def analyze(caller: Invocation, watching: Killing) -> None:
    request = RunRequest(operations=("lint",), concurrency=1, seed=7)
    prepared = renamed(prepare(caller, request), RUN)
    model: Model = ScriptedModel(eager)
    try:
        await execute_plan(prepared, model, watching, utc_now)
    finally:
        await model.aclose()
        prepared.close()


async def resume(caller: Invocation, watching: Killing) -> None:
    project = open_project(caller)
    wanted = prepare_resume(caller, project, read_own_record(project, RUN))
    models: dict[str, Model] = {name: ScriptedModel(eager) for name in wanted.models}
    try:
        await run_remaining(wanted, models, watching, utc_now)
    finally:
        for model in models.values():
            await model.aclose()


def main(home: str, root: str, what: str, kind: str, number: str) -> None:
    caller = Invocation(
        environ={"HOME": home},
        folder=Path(root),
        root=Path(root),
        flags={"model.exact": True, "runner.decisions": "model"},
        operations=OPERATIONS,
    )
    watching = Killing(kind, int(number))
    work = analyze if what == "analyze" else resume
    asyncio.run(work(caller, watching))


if __name__ == "__main__":
    main(*sys.argv[1:])
