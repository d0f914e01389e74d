"""`hub observe`: run tests, and keep which node called which."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from remora.bootstrap.hub_target import HubTarget
from remora.bootstrap.observe_tests import Observed, ObserveOptions, PreparedTests
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options, command
from remora.cli.app.output import count, note, print_json
from remora.cli.hub.hub_options import place_options
from remora.hub.observe.observed_run import SECONDS
from remora.sandbox.isolation import SAFE_LEVEL, describe_level
from remora.text import escape_line

_MAX_SHOWN = 5


@command(
    "observe",
    examples=(
        "remora hub observe -- pytest tests",
        "remora hub observe -- python -m pytest -q -k cart",
    ),
)
@click.argument("words", nargs=-1, metavar="-- pytest …", required=True)
@click.option("--allow-unsandboxed", is_flag=True, help="Consent where isolation is poor.")
@click.option(
    "--max-time",
    type=click.FloatRange(min=1),
    default=SECONDS,
    metavar="S",
    help="Seconds after which the tests are ended.",
)
@place_options
def observe(
    options: Options,
    words: tuple[str, ...],
    allow_unsandboxed: bool,
    max_time: float,
    socket: Path | None,
    db: Path | None,
) -> int:
    """Run a project's own tests and keep which function called which, and for which test.

    What was seen are links and tests of the tier observed; each holds until its caller, or the
    test, is changed. Output and exit code are pytest's. The tests run in the project's own
    environment, without this shell's variables, and take up to two to three times as long.

    They are isolated: no network, none of your files but the project's and its environment's; what
    they write there is gone afterwards. Where this machine gives no such isolation (below level 2,
    see `remora doctor`) they run only with --allow-unsandboxed.
    """
    flags = {"workspace.allow_unsandboxed": True if allow_unsandboxed else None}
    wish = ObserveOptions(
        hub=HubTarget(db=db, socket=socket),
        words=words,
        seconds=max_time,
        stdout=sys.stderr.fileno() if options.json else None,
    )
    prepared = PreparedTests(caller_of(options, flags), wish)
    note(options, f"the tests are {describe_level(prepared.level)}")
    if prepared.level < SAFE_LEVEL:
        note(options, "what this level does not stop, they can do with your rights")
    done = prepared.run()
    if options.json:
        print_json(_document(done))
    for line in _summary(done):
        note(options, line)
    return done.ran.code if done.ran.code >= 0 else 1


def _document(done: Observed) -> dict[str, object]:
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


def _summary(done: Observed) -> Iterator[str]:
    read = done.ran.read
    if done.ran.timed_out:
        yield "the tests were ended: time limit reached"
    tests = count(len(read.observation.ran), "test")
    yield f"seen: {count(len(read.observation.calls), 'link')} in {tests}"
    if not read.complete:
        yield "incomplete: too much was recorded, or the record is damaged"
    if read.left_out:
        shown = ", ".join(read.left_out[:_MAX_SHOWN])
        more = "" if len(read.left_out) <= _MAX_SHOWN else " …"
        yield escape_line(f"changed since they were run, and left out: {shown}{more}")
    if done.waits:
        yield "the daemon will store it"
