"""The `eval restore` command."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.invocation import invocation_of
from remora.cli.app.name_parameters import OPERATION
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, note, table
from remora.text import clip, count, escape_line

if TYPE_CHECKING:
    pass

_HEAD = (
    *("ARM", "EXACT", "EQUIVALENT", "DIFFERENT", "LEFT"),
    *("PRECISION", "COVERAGE", "TOKENS", "SECONDS"),
)
_FEW = 5
_LONGEST = 60


@command(
    "restore",
    examples=(
        "remora eval restore",
        "remora eval restore -o types --slots 500",
        "remora eval restore --arm rules --arm embedded --json",
        "remora eval restore -o docstring --arm rules --arm http://127.0.0.1:8080/v1,decoding=grammar",
    ),
)
@click.option(
    "-o", "--operation", "operations", type=OPERATION, metavar="OP", multiple=True,
    help="Operation to measure; repeatable. [default: lint, docstring, types]",
)  # fmt: skip
@click.option(
    "--arm", "arms", metavar="ARM", multiple=True, default=("rules",), show_default=True,
    help="rules, embedded, configured or a server's address; repeatable.",
)  # fmt: skip
@click.option(
    "--slots", type=click.IntRange(min=1, max=1_000_000), default=200, show_default=True,
    metavar="N", help="Maximum number of parts to hide per operation.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**32 - 2), default=0, show_default=True,
    metavar="N", help="Seed for the choice of parts and for intervals.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Do not use results of earlier commands.")
def restore(
    options: Options,
    *,
    operations: tuple[str, ...],
    arms: tuple[str, ...],
    slots: int,
    seed: int,
    fresh: bool,
) -> int:
    """Measure operations and models on what people wrote in this project.

    Annotations and other parts are hidden in a private copy, an operation works on the copy, and
    its results are compared with the hidden parts. Your files are not changed. Each --arm is
    measured on the same parts, and may end with ",decoding=D" and ",renderer=R", which override
    model.decoding and model.renderer. It is safe to press Ctrl-C: the same command continues.
    """
    from remora.bootstrap.eval_restore import eval_restore
    from remora.cli.views.progress import run_progress
    from remora.evals.restore.arms import parse_arm
    from remora.evals.restore.document import restore_document
    from remora.evals.restore.measure import RestoreRequest

    request = RestoreRequest(
        operations=operations,
        arms=tuple(parse_arm(arm) for arm in dict.fromkeys(arms)),
        slots=slots,
        seed=seed,
        fresh=fresh,
    )
    report = eval_restore(
        invocation_of(options),
        request,
        lambda: run_progress(options),
        lambda line: note(options, line),
    )
    document = restore_document(report)
    for text in report.notes:
        note(options, text)
    emit(options, document, _lines(document, verbose=options.verbose))
    return report.exit_code


def _lines(document: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    for found in document["operations"]:
        yield click.style(escape_line(_heading(found)), bold=True)
        if found["arms"]:
            yield from table(_HEAD, [_row(arm) for arm in found["arms"] if not arm["error"]])
        for arm in found["arms"]:
            yield from map(escape_line, _details(arm))
        examples = found["examples"]
        shown = examples if verbose else examples[:_FEW]
        yield from (escape_line(_example(each)) for each in shown)
        if len(shown) < len(examples):
            yield f"{count(len(examples) - len(shown), 'more different text')}: -v lists them"
        yield ""


def _heading(found: Mapping[str, Any]) -> str:
    if not found["slots"]:
        return f"{found['operation']}: nothing to hide"
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found["hidden"].items())
    return (
        f"{found['operation']}: {found['slots']:,} of {count(found['found'], 'part')} hidden "
        f"in {count(found['files'], 'file')}: {kinds}"
    )


def _row(arm: Mapping[str, Any]) -> Sequence[object]:
    outcomes = (arm[name] for name in ("exact", "equivalent", "different", "left"))
    shares = (_share(arm, name) for name in ("precision", "coverage"))
    return [arm["name"], *outcomes, *shares, arm["tokens"], round(arm["seconds"])]


def _share(found: Mapping[str, Any], name: str, sign: str = "") -> str:
    """Return a share with its interval, such as `91 % (88-95)`, or `-` if it is not known."""
    value, interval = found[name], found[f"{name}_ci95"]
    if value is None:
        return "-"
    ends = f" ({interval[0] * 100:{sign}.0f} to {interval[1] * 100:{sign}.0f})" if interval else ""
    return f"{value * 100:{sign}.0f} %{ends}"


def _details(arm: Mapping[str, Any]) -> Iterator[str]:
    if arm["error"]:
        yield f"{arm['name']}: {arm['error']}"
    if len(arm["by_kind"]) > 1:
        parts = (f"{kind} {_right(n)}" for kind, n in arm["by_kind"].items())
        yield f"{arm['name']}: right of written of all: {', '.join(parts)}"
    if arm["by_source"]:
        parts = (f"{name} {n['right']} of {n['written']}" for name, n in arm["by_source"].items())
        yield f"{arm['name']}: right by source: {', '.join(parts)}"
    if arm["against_first"]:
        differing = arm["against_first"]
        names = ("precision", "coverage", "restored")
        parts = (f"{name} {_share(differing, name, '+')}" for name in names)
        yield f"{arm['name']} against the first arm: {', '.join(parts)}"


def _right(outcomes: Mapping[str, int]) -> str:
    right = outcomes["exact"] + outcomes["equivalent"]
    return f"{right} of {right + outcomes['different']} of {sum(outcomes.values())}"


def _example(found: Mapping[str, Any]) -> str:
    place = f"{found['path']}:{found['qualname']} {found['part']}"
    texts = (clip(" ".join(found[key].split()), _LONGEST) for key in ("people", "written"))
    people, written = texts
    return f"  {place}: people wrote {people!r}, {found['arm']} wrote {written!r}"
