"""The `analyze` command and its options. `start_run` implements it."""

from pathlib import Path

import click
from click.core import ParameterSource

from remora.cli.app.options import (
    PATH,
    SECONDS,
    Options,
    changed_option,
    command,
    json_lines_option,
    model_option,
    operations_option,
    select_option,
    unsandboxed_option,
)
from remora.cli.app.working import working
from remora.errors import UsageError

_POSITIVE = click.IntRange(min=1, max=1_000_000)
_TOKENS = click.IntRange(min=1)
_FIXED = (
    "paths operations node changed max_nodes select unsafe_fixes decisions max_turns seed dry_run"
)
"""Parameters that a resumed run cannot change."""
_SEED = click.IntRange(min=0, max=2**32 - 2)  # llama.cpp's range; its last number means "any"


@command(
    "analyze",
    examples=(
        "remora analyze src/ -o lint",
        "remora analyze --changed=main --unsafe-fixes",
        "remora analyze -o lint --select default,UP",
        "remora analyze --node 'shop/*:load_*' --model http://127.0.0.1:8080/v1",
        "remora analyze --dry-run --json",
        "remora analyze --json-lines | jq -r 'select(.type == \"job_ended\").status'",
        "remora analyze --resume last",
    ),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PATH)
@operations_option("Operation to run; repeatable. [default: lint, docstring]")
@click.option(
    "--node", metavar="GLOB", help="Select nodes whose path:qualname or qualname matches."
)  # fmt: skip
@changed_option("Select nodes that differ from REV (HEAD if omitted).")
@click.option("--max-nodes", type=_POSITIVE, metavar="N", help="Maximum number of nodes.")
@click.option("-y", "--yes", is_flag=True, help="Run even if there are more than 200 jobs.")
@model_option
@click.option("--concurrency", type=_POSITIVE, metavar="N", help="Maximum concurrent jobs.")
@click.option(
    "--engine", type=click.Choice(["local", "queue"]), default="local", show_default=True,
    help="Where to run jobs: here, or in every `remora worker`.",
)  # fmt: skip
@select_option
@click.option("--unsafe-fixes", is_flag=True, help="Allow fixes that ruff considers unsafe.")
@unsandboxed_option
@click.option(
    "--allow-address", "allow_addresses", metavar="URL", multiple=True,
    help="Let the project choose the model server at URL, or a model there (URL#NAME); "
    "repeatable.",
)  # fmt: skip
@click.option(
    "--decisions", type=click.Choice(["rules", "model"]),
    help="Who chooses the tool calls. [default: model with --model, otherwise rules]",
)  # fmt: skip
@click.option("--max-turns", type=_POSITIVE, metavar="N", help="Maximum turns per job.")
@click.option(
    "--max-time", type=SECONDS, metavar="S",
    help="Stop after S seconds and interrupt running jobs.",
)  # fmt: skip
@click.option(
    "--max-requests", type=_POSITIVE, metavar="N",
    help="Stop before the run has made more than N requests to models.",
)  # fmt: skip
@click.option(
    "--max-tokens", type=_TOKENS, metavar="N",
    help="Stop before the run has sent more than N tokens to models.",
)  # fmt: skip
@click.option("--seed", type=_SEED, metavar="N", help="Seed for sampling and tools.")
@click.option(
    "--gates", type=click.Choice(["all", "static", "none"]), default="all", show_default=True,
    help="The project's own checks that judge the changes; static ones run no code of it.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the plan and exit.")
@click.option("--resume", metavar="RUN", help="Resume an interrupted run.")
@click.option(
    "--trust-run", is_flag=True,
    help="With --resume: accept a run that this installation did not start.",
)  # fmt: skip
@json_lines_option
def analyze(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    *,
    paths: tuple[Path, ...],
    operations: tuple[str, ...],
    node: str | None,
    changed: str | None,
    max_nodes: int | None,
    yes: bool,
    model: str | None,
    concurrency: int | None,
    engine: str,
    select: tuple[str, ...],
    unsafe_fixes: bool,
    allow_unsandboxed: bool,
    allow_addresses: tuple[str, ...],
    decisions: str | None,
    gates: str,
    max_turns: int | None,
    max_time: float | None,
    max_requests: int | None,
    max_tokens: int | None,
    seed: int | None,
    dry_run: bool,
    resume: str | None,
    trust_run: bool,
    json_lines: bool,
) -> int:
    """Plan and run jobs, and show what they would change.

    Each function, class and module under PATH (default: the whole project) that needs work becomes
    a job. An agent works on a private copy, and `remora accept` writes its changes to your files.
    It is safe to press Ctrl-C at any time. --resume RUN continues the run with the same settings,
    except --model, --allow-address, --concurrency, --engine and --max-time. Write --changed=REV, or put --changed last.
    """
    with working(options, "starting"):
        from remora.bootstrap.invocation import run_flags
        from remora.cli.run.start_run import RunOptions, resume_run, start_run
        from remora.runs.execution.run import RunRequest
        from remora.usecases.analyze.run_limits import RunBudget

    run = RunOptions(
        request=RunRequest(
            paths=paths,
            operations=operations,
            node=node,
            changed=changed,
            max_nodes=max_nodes,
            yes=yes,
            concurrency=concurrency,
            unsafe_fixes=unsafe_fixes,
            max_turns=max_turns,
            seed=seed,
            engine=engine,
        ),
        flags=run_flags(model, allow_unsandboxed, select, allow_addresses, decisions, gates=gates),
        budget=RunBudget(seconds=max_time, requests=max_requests, tokens=max_tokens),
        model=model,
        dry_run=dry_run,
        trust_run=trust_run,
    )
    if resume is None and trust_run:
        raise UsageError("--trust-run requires --resume", hint="a new run is always trusted")
    if resume is not None:
        _check_resumed()
    if json_lines and (options.json or resume is not None):
        raise UsageError("--json-lines cannot be combined with --json or --resume")
    if resume is not None:
        return resume_run(options, run, resume)
    return start_run(options, run, json_lines=json_lines)


def _check_resumed() -> None:
    """Raise UsageError if an option is given that a resumed run cannot change."""
    ctx = click.get_current_context()
    given = [
        parameter.opts[-1] if isinstance(parameter, click.Option) else "PATH"
        for parameter in ctx.command.params
        if parameter.name in _FIXED.split()
        and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot be combined with --resume: "
            "a resumed run keeps its settings",
            hint="omit these options, or start a new run without --resume",
        )
