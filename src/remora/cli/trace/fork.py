"""The `trace fork` command, which creates a new agent from any turn of another agent."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command, trust_option
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import invocation_of, next_command, open_with_consent
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.models.protocol import Model
    from remora.runs.continuation.fork import ForkResult
    from remora.runs.project import ProjectRecords
    from remora.usecases.analyze.resume_run import Resumable


@command(
    "fork",
    examples=(
        "remora trace fork load_orders --turn 3 --continue",
        "remora trace fork lint-1f2e3d4c5b6a --turn 2 --model http://127.0.0.1:8080/v1",
    ),
)
@click.argument("agent")
@click.option(
    "--turn", type=click.IntRange(min=0), required=True, metavar="N",
    help="Start just before this turn's decision (0: before the first turn).",
)  # fmt: skip
@click.option("--model", metavar="M", help="Use another model: a name or a server address.")
@click.option("--continue", "go_on", is_flag=True, help="Run the new agent now.")
@trust_option
def fork(
    options: Options,
    agent: str,
    *,
    turn: int,
    model: str | None,
    go_on: bool,
    trust_run: bool,
) -> int:
    """Start another attempt of an agent's job from any of its turns.

    The new agent has its own stream, which starts with the packet and the files as they were before
    the decision of turn N. The old stream does not change. Nothing is run unless --continue is
    given. Use `remora analyze --resume RUN` to run the agent later. `remora trace --help` explains
    AGENT.
    """
    from remora.bootstrap.invocation import model_flags
    from remora.runs.records.name_lookup import stream_named
    from remora.usecases.analyze.start_fork import (
        ForkRequest,
        fork_with_model,
        start_continued_fork,
    )

    invocation = invocation_of(options, model_flags(model))
    project = open_with_consent(options, invocation)
    request = ForkRequest(agent_id=stream_named(project.trace, agent), turn=turn, trusted=trust_run)
    configured = bool(model)
    if go_on:
        return _continue_fork(
            options,
            project,
            *start_continued_fork(invocation, project, request, configured=configured),
        )
    made = fork_with_model(invocation, project, request, configured=configured)
    emit(options, made.document(), _fork_lines(options, project, made))
    return 0


def _continue_fork(
    options: Options,
    project: "ProjectRecords",
    made: "ForkResult",
    wanted: "Resumable",
    models: "Mapping[str, Model]",
) -> int:
    from remora.cli.run.foreground_run import run_to_end
    from remora.cli.views.run_view import attempt_lines, jobs_exit_code
    from remora.runs.records.results import job_document, read_attempt, read_run
    from remora.runs.records.run_record import read_record

    agent_id, run_id = made.job.agent_id, made.job.run_id
    note(options, f"fork {agent_id} of run {run_id}")
    stopped = run_to_end(options, wanted, models)
    view = read_run(project, run_id)
    (job,) = [job for job in view.jobs if job.agent_id == agent_id] or [
        # not ended, so the run shows another attempt
        read_attempt(project, made.job, read_record(project, run_id))
    ]
    document = {**made.document(), "job": job_document(job)}
    emit(options, document, attempt_lines(options, project, view, [job]))
    if stopped:
        resume = next_command(options, project.root, "analyze", "--resume", run_id)
        note(options, f"{stopped}: completed work is recorded; resume with `{resume}`")
        return 130
    return jobs_exit_code([job])


def _fork_lines(options: Options, project: "ProjectRecords", made: "ForkResult") -> Iterator[str]:
    parent = made.parent
    where = f"line {parent['seq'] + 1} of {parent['agent_id']}"
    yield escape_line(f"{made.job.agent_id}  attempt {made.job.attempt}, from {where}")
    resume = next_command(options, project.root, "analyze", "--resume", made.job.run_id)
    yield f"nothing was run; to run the fork, use `{resume}`"
