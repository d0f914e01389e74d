"""The `retry` command, which runs a job again with feedback."""

import click

from remora.cli.app.options import Options, command, trust_option
from remora.cli.app.output import note
from remora.cli.app.project_context import invocation_of, open_with_consent
from remora.text import count


@command("retry", examples=("remora retry last load_orders --feedback 'keep the name'",))
@click.argument("run")
@click.argument("node")
@click.option(
    "--feedback", metavar="TEXT", help="Tell the agent what to do differently; shown in every turn."
)
@click.option(
    "--model", metavar="M", help="Server address, or name, of the run's model. [env: REMORA_MODEL]"
)
@trust_option
def retry(
    options: Options,
    run: str,
    node: str,
    *,
    feedback: str | None,
    model: str | None,
    trust_run: bool,
) -> int:
    """Run a node's job again, with your feedback, on the current version of its file.

    Without --feedback, the feedback of a previous rejection is used. Only a model reads feedback; a
    rejected change that rules make again stays rejected.

    The previous attempt is kept in the records with the verdict `retried`. Its change is
    replaced by the new one. NODE is path:qualname, a qualname, or a glob.
    """
    from remora.bootstrap.invocation import model_flags
    from remora.cli.run.foreground_run import conclude_run, run_to_end
    from remora.models.protocol import NAME
    from remora.runs.records.results import own_run
    from remora.usecases.analyze.start_retry import start_retry

    invocation = invocation_of(options, model_flags(model))
    project = open_with_consent(options, invocation)
    view = own_run(project, run, trusted=trust_run)
    wanted, models = start_retry(invocation, project, view, node, feedback=feedback)
    note(options, f"run {view.run_id}: retrying {count(len(wanted.only or ()), 'job')}")
    if feedback is None and models.keys() <= {NAME}:
        note(options, "no model: rules will make the same change again unless the file has changed")
    stopped = run_to_end(options, wanted, models)
    return conclude_run(options, project, view, stopped, only=wanted.only)
