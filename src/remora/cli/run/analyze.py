"""The `analyze` command and its options. `start_run` implements it."""

from pathlib import Path
from typing import Any

import click

from remora.cli.app.name_parameters import OPERATION, RUN
from remora.cli.app.options import PATH, SECONDS, Options, command
from remora.errors import UsageError

_POSITIVE = click.IntRange(min=1, max=1_000_000)
_SEED = click.IntRange(min=0, max=2**32 - 2)  # llama.cpp's range; its last number means "any"


@command(
    "analyze",
    examples=(
        "remora analyze src/ -o lint",
        "remora analyze --changed=main --unsafe-fixes",
        "remora analyze -o lint --select default,PTH",
        "remora analyze --node 'shop/*:load_*' --model http://127.0.0.1:8080/v1",
        "remora analyze --dry-run --json",
        "remora analyze --json-lines | jq -r 'select(.type == \"job_ended\").status'",
        "remora analyze --resume last",
        "remora analyze --repos repos.yaml -o lint",
    ),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PATH)
@click.option(
    "-o", "--operation", "operations", type=OPERATION, metavar="OP", multiple=True,
    help="Operation to run; repeatable. [default: lint, docstring]",
)  # fmt: skip
@click.option(
    "--node", metavar="GLOB", help="Select nodes whose path:qualname or qualname matches."
)
@click.option(
    "--changed", is_flag=False, flag_value="", metavar="[REV]",
    help="Select nodes that differ from REV (HEAD if omitted).",
)  # fmt: skip
@click.option("--max-nodes", type=_POSITIVE, metavar="N", help="Maximum number of nodes.")
@click.option("-y", "--yes", is_flag=True, help="Run even if there are more than 200 jobs.")
@click.option(
    "--model", "model", metavar="M", help="Model name or server address. [env: REMORA_MODEL]"
)
@click.option("--concurrency", type=_POSITIVE, metavar="N", help="Maximum concurrent jobs.")
@click.option(
    "--engine", type=click.Choice(["local", "queue", "ray"]), default="local", show_default=True,
    help="Where to run jobs: here, in every `remora worker`, or on a Ray cluster.",
)  # fmt: skip
@click.option(
    "--select", metavar="RULES", multiple=True,
    help="Ruff rules to check, such as F,UP, ALL or default; repeatable.",
)  # fmt: skip
@click.option("--unsafe-fixes", is_flag=True, help="Allow fixes that ruff considers unsafe.")
@click.option(
    "--strengthen", is_flag=True,
    help="Also propose tests where existing tests miss faults; implied by --changed.",
)  # fmt: skip
@click.option(
    "--allow-unsandboxed", is_flag=True,
    help="Run the project's code even below isolation level 2.",
)  # fmt: skip
@click.option(
    "--allow-address", "allow_addresses", metavar="URL", multiple=True,
    help="Let the project choose the model server at URL, or a model there (URL#NAME); repeatable.",
)  # fmt: skip
@click.option("--max-turns", type=_POSITIVE, metavar="N", help="Maximum turns per job.")
@click.option(
    "--max-time", type=SECONDS, metavar="S",
    help="Stop after S seconds and interrupt running jobs.",
)  # fmt: skip
@click.option("--seed", type=_SEED, metavar="N", help="Seed for sampling and tools.")
@click.option(
    "--repos", type=PATH, metavar="FILE",
    help="Sweep the repositories that FILE lists, each as a project of its own.",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="With --repos: also select nodes unchanged since the last sweep.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the plan and exit.")
@click.option(
    "--json-lines", is_flag=True,
    help="Print each event as it happens, one JSON object per line.",
)  # fmt: skip
@click.option(
    "--resume", type=RUN, metavar="RUN",
    help="Resume an interrupted run.",
)  # fmt: skip
@click.option(
    "--trust-run", is_flag=True,
    help="With --resume: accept a run that this installation did not start.",
)  # fmt: skip
def analyze(  # noqa: PLR0913 (one parameter per option that is not part of the request)
    options: Options,
    *,
    model: str | None,
    select: tuple[str, ...],
    allow_unsandboxed: bool,
    allow_addresses: tuple[str, ...],
    max_time: float | None,
    repos: Path | None,
    full: bool,
    dry_run: bool,
    json_lines: bool,
    resume: str | None,
    trust_run: bool,
    **asked: Any,
) -> int:
    """Plan and run jobs, and show what they would change.

    Each function, class and module under PATH (default: the whole project) that needs work becomes
    a job. An agent works on a private copy, and `remora accept` writes its changes to your files.
    It is safe to press Ctrl-C at any time. --resume RUN continues the run with the same settings,
    except --model, --allow-address, --concurrency, --engine and --max-time. Write --changed=REV, or put --changed last.
    """
    from remora.cli.app.json_lines import LinePrinter
    from remora.cli.run.resume import ResumeRequest, check_options, resume_run
    from remora.cli.run.start_run import RunOutput, start_run
    from remora.cli.sweep.start_sweep import SweepArguments, resume_sweep, start_sweep
    from remora.runs.planning.run_request import RunRequest
    from remora.usecases.api_arguments import run_flags

    flags = run_flags(model, allow_unsandboxed, select, allow_addresses)
    if json_lines and (options.json or repos is not None or resume is not None):
        raise UsageError("--json-lines cannot be combined with --json, --repos or --resume")
    if full and (repos is None or resume is not None):
        raise UsageError("--full requires --repos, and a new run")
    if resume is not None:
        check_options({**asked, "select": select, "dry_run": dry_run})
        if repos is not None:
            sweep = SweepArguments(
                repos, asked["engine"], flags, max_time, asked["concurrency"], True, trust_run
            )
            return resume_sweep(options, sweep, resume)
        request = ResumeRequest(
            resume, model, asked["engine"], trust_run, max_time, asked["concurrency"]
        )
        return resume_run(options, flags, request)
    if trust_run:
        raise UsageError("--trust-run requires --resume", hint="a new run is always trusted")
    if repos is not None:
        sweep = SweepArguments(
            repos, asked["engine"], flags, max_time, asked["concurrency"], asked["yes"]
        )
        return start_sweep(options, sweep, asked, full=full, dry_run=dry_run)
    output = RunOutput(dry_run, LinePrinter() if json_lines else None)
    return start_run(options, RunRequest(**asked), flags, output, model=model, max_time=max_time)
