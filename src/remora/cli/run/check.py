"""The `check` command, which reports what `analyze` would change, for hooks and CI."""

from pathlib import Path
from threading import Thread

import click

from remora.cli.app.options import (
    PATH,
    SECONDS,
    Options,
    changed_option,
    command,
    model_option,
    operations_option,
    select_option,
    unsandboxed_option,
)
from remora.cli.app.working import working
from remora.errors import UsageError


@command(
    "check",
    examples=(
        "remora check",
        "remora check src/shop/orders.py --diff",
        "remora check -o lint -o docstring -o types",
        "remora check --changed=origin/main --format github",
        "remora check --reports out/ --quiet",
        "remora check --baseline known.jsonl --update-baseline",
    ),
)
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=PATH)
@operations_option("Operation to check; repeatable. [default: lint, docstring]")
@changed_option("Check only nodes that differ from REV (HEAD if omitted).")
@model_option
@select_option
@click.option(
    "--gates", is_flag=True, help="Judge the changes by the project's tests and checkers."
)
@click.option("--unsafe-fixes", is_flag=True, help="Also report what only unsafe fixes repair.")
@unsandboxed_option
@click.option("--max-time", type=SECONDS, metavar="S", help="Stop after S seconds.")
@click.option("--diff", is_flag=True, help="Also print the changes as unified diffs.")
@click.option(
    "--format", "form", type=click.Choice(("text", "github", "sarif")), default="text",
    show_default=True, help="Output format; --json prints JSON.",
)  # fmt: skip
@click.option(
    "--reports", type=PATH, metavar="DIR",
    help="Also write JSON, SARIF, Markdown and a patch to DIR.",
)  # fmt: skip
@click.option("--baseline", type=PATH, metavar="FILE", help="Leave out the known problems in FILE.")
@click.option("--update-baseline", is_flag=True, help="Replace the known problems by those found.")
def check(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    *,
    paths: tuple[Path, ...],
    operations: tuple[str, ...],
    changed: str | None,
    model: str | None,
    select: tuple[str, ...],
    gates: bool,
    unsafe_fixes: bool,
    allow_unsandboxed: bool,
    max_time: float | None,
    diff: bool,
    form: str,
    reports: Path | None,
    baseline: Path | None,
    update_baseline: bool,
) -> int:
    """Report what `analyze` would change and what it finds, and change nothing.

    FILE is a file or a folder (default: the whole project). Files that are not Python files, or
    that `exclude` matches, are skipped, so hooks can pass every file of a commit; a notebook that
    is not excluded is an error. Each line names a place, an operation and what is wrong there:
    something that a checked change fixes, or a docstring that contradicts its code. The exit code
    is 0 if there is nothing, 1 if there is something, 3 if the model failed, and 130 if the check
    was stopped, as by --max-time. No run is recorded. `--format github` prints annotations of GitHub
    Actions, at most ten, and with --changed only on changed lines. With --baseline, only problems
    that are not in its file count; --update-baseline writes the file. Write --changed=REV, or put
    --changed last.
    """
    with working(options, "starting"):
        from remora.sandbox.isolation import best_level

        # finds the isolation level while modules are imported
        Thread(target=best_level).start()
        from remora.bootstrap.invocation import run_flags
        from remora.cli.run.print_check import CheckOutput, run_check
        from remora.runs.execution.run import RunRequest
        from remora.usecases.check.baseline import read_baseline

    if options.json and form != "text":
        raise UsageError(f"--json conflicts with --format {form}", hint="use only one of them")
    if diff and form != "text":
        raise UsageError(f"--diff conflicts with --format {form}", hint="use only one of them")
    flags = run_flags(model, allow_unsandboxed, select, gates=None if gates else "none")
    request = RunRequest(
        paths=paths, operations=operations, changed=changed, unsafe_fixes=unsafe_fixes
    )
    known = read_baseline(baseline, request, update=update_baseline)
    output = CheckOutput(form=form, diff=diff, reports=reports, baseline=known)
    return run_check(options, request, flags, output, max_time)
