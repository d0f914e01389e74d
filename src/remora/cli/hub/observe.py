"""The `hub observe` command, which runs tests and records calls between nodes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from remora.cli.app.colors import colors_at
from remora.cli.app.options import Options, command
from remora.cli.app.output import note, print_json
from remora.cli.app.project_context import invocation_of
from remora.cli.hub.hub_options import target_options
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.usecases.hub.observe_tests import Observed
    from remora.usecases.hub.target import HubTarget

_MAX_SHOWN = 5


@command(
    "observe",
    examples=(
        "remora hub observe -- pytest tests",
        "remora hub observe -- python -m pytest -q -k cart",
    ),
)
@click.argument("words", nargs=-1, metavar="-- pytest …", required=True)
@click.option(
    "--allow-unsandboxed", is_flag=True, help="Run the tests even below isolation level 2."
)
@click.option(
    "--max-time",
    type=click.FloatRange(min=1),
    default=1800.0,
    metavar="S",
    show_default=True,
    help="Stop the tests after S seconds.",
)
@target_options
def observe(
    options: Options,
    words: tuple[str, ...],
    allow_unsandboxed: bool,
    max_time: float,
    target: "HubTarget",
) -> int:
    """Run the project's tests and record the calls between functions for each test.

    Recorded links have the observed tier and remain valid until their caller or test changes. The
    output and the exit code are those of pytest. The tests run in the project's environment,
    without the variables of this shell, and take up to three times as long as usual.

    The tests are isolated. They have no network access and can only see files of the project and
    its environment. Everything they write is discarded. Below isolation level 2 (see `remora
    doctor`), --allow-unsandboxed is required.
    """
    from remora.sandbox.isolation import SAFE_LEVEL, describe_level
    from remora.usecases.hub.observe_tests import ObserveOptions, PreparedTests

    flags = {"workspace.allow_unsandboxed": True if allow_unsandboxed else None}
    stdout = 2 if options.json else 1
    request = ObserveOptions(
        hub=target, words=words, seconds=max_time, stdout=stdout, colors=colors_at(stdout)
    )
    prepared = PreparedTests(invocation_of(options, flags), request)
    note(options, f"the tests are {describe_level(prepared.level)}")
    if prepared.level < SAFE_LEVEL:
        note(options, "the tests have your permissions, except for what this level blocks")
    done = prepared.run()
    if options.json:
        print_json(_document(done))
    note(options, *_summary(done))
    return done.ran.code if done.ran.code >= 0 else 1


def _document(done: "Observed") -> dict[str, object]:
    read = done.ran.read
    return {
        "exit_code": done.ran.code,
        "timed_out": done.ran.timed_out,
        "isolation": done.ran.isolation,
        "tests": len(read.observation.ran),
        "calls": len(read.observation.calls),
        "complete": read.complete,
        "left_out": list(read.left_out),
    }


def _summary(done: "Observed") -> Iterator[str]:
    read = done.ran.read
    if done.ran.timed_out:
        yield "the tests were stopped at the time limit"
    tests = count(len(read.observation.ran), "test")
    yield f"recorded: {count(len(read.observation.calls), 'link')} in {tests}"
    if not read.complete:
        yield "incomplete: the recording is too large or damaged"
    if read.left_out:
        shown = ", ".join(read.left_out[:_MAX_SHOWN])
        more = "" if len(read.left_out) <= _MAX_SHOWN else " …"
        yield escape_line(f"skipped files that changed: {shown}{more}")
    if done.waits:
        yield "the daemon will store the result"
