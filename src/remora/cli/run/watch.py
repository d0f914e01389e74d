"""The `watch` command and its options. `watch_output` prints what it does."""

import click

from remora.cli.app.address_consent import open_with_consent
from remora.cli.app.name_parameters import operations_option
from remora.cli.app.options import Options, command, json_lines_option, model_option, select_option
from remora.cli.app.project_context import invocation_of
from remora.errors import UsageError


@command(
    "watch",
    examples=(
        "remora watch",
        "remora watch -o lint -o docstring -o test",
        "remora watch --json-lines | jq -r 'select(.type == \"proposal\").node_id'",
    ),
)
@operations_option("Operation to run; repeatable. [default: lint, docstring]")
@click.option(
    "--delay", type=click.FloatRange(0.1, 3600), default=2.0, show_default=True, metavar="S",
    help="Seconds without a change before an analysis.",
)  # fmt: skip
@click.option(
    "--max-jobs", type=click.IntRange(1, 200), default=50, show_default=True, metavar="N",
    help="Maximum number of jobs of one analysis; the newest files come first.",
)  # fmt: skip
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N",
    help="Maximum concurrent jobs, unless the configuration allows fewer.",
)  # fmt: skip
@model_option
@select_option
@json_lines_option
def watch(
    options: Options,
    *,
    model: str | None,
    select: tuple[str, ...],
    operations: tuple[str, ...],
    json_lines: bool,
    **numbers: float,
) -> int:
    """Analyze what you have changed since the last commit, whenever you save.

    Your files are not changed. `remora review --watched` shows what is proposed. If you change a
    function, earlier proposals of this command for it are withdrawn as outdated. No text is analyzed
    twice. The command works with low priority until Ctrl-C, which ends it with exit code 0.
    """
    from remora.cli.run.watch_output import JsonOutput, TextOutput
    from remora.models.agreed_addresses import require_agreed
    from remora.usecases.api_arguments import run_flags
    from remora.usecases.watch.watch_project import watch as watch_project
    from remora.usecases.watch.watch_settings import WatchSettings

    if options.json:
        raise UsageError("--json cannot be combined with watch", hint="use --json-lines")
    settings = WatchSettings(
        operations=operations,
        delay=numbers["delay"],
        max_jobs=int(numbers["max_jobs"]),
        concurrency=int(numbers["concurrency"]),
    )
    invocation = invocation_of(options, run_flags(model, False, select, gates=False))
    project = open_with_consent(options, invocation)
    require_agreed(project.config)
    observer = JsonOutput() if json_lines else TextOutput(options)
    try:
        watch_project(invocation, settings, observer)
    except KeyboardInterrupt:
        if not observer.has_started:
            raise
    return 0
