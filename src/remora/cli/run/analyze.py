"""The `analyze` command. `start_run` implements it."""

import click

from remora.cli.app.options import PATH, Options, command, json_lines_option
from remora.cli.app.run_options import RunOptions, run_options
from remora.cli.app.working import working
from remora.errors import UsageError


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
    ),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PATH)
@run_options
@json_lines_option
def analyze(options: Options, run: RunOptions, *, json_lines: bool) -> int:
    """Plan and run jobs, and show what they would change.

    Each function, class and module under PATH (default: the whole project) that needs work becomes
    a job. An agent works on a private copy, and `remora accept` writes its changes to your files.
    It is safe to press Ctrl-C at any time. --resume RUN continues the run with the same settings,
    except --model, --allow-address, --concurrency, --engine and --max-time. Write --changed=REV, or put --changed last.
    """
    with working(options, "starting"):
        from remora.cli.app.json_lines import LinePrinter
        from remora.cli.run.start_run import resume_run, start_run

    if json_lines and (options.json or run.resume is not None):
        raise UsageError("--json-lines cannot be combined with --json or --resume")
    if run.resume is not None:
        return resume_run(options, run, run.resume)
    return start_run(options, run, LinePrinter() if json_lines else None)
