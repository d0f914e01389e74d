"""The `eval` command."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from remora.cli.app.options import Options, command, operations_option
from remora.cli.app.output import emit, indented, note, table, wrapped
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import working
from remora.text import clip, count

_FEW = 5
_LONGEST = 60


@command(
    "eval",
    examples=(
        "remora eval",
        "remora eval -o types --slots 500",
        "remora eval -o test --slots 20 --arm rules --arm configured",
        "remora eval -o docstring --arm rules --arm http://127.0.0.1:8080/v1,renderer=json",
        "remora eval -o lint --arm configured --arm configured,memory=raw --json",
    ),
)
@operations_option("Operation or agent to measure; repeatable. [default: types]")
@click.option(
    "--arm", "arms", metavar="ARM", multiple=True, default=("rules",), show_default=True,
    help="rules, embedded, configured or a server's address, with options; repeatable.",
)  # fmt: skip
@click.option(
    "--slots", type=click.IntRange(min=1, max=1_000_000), default=200, show_default=True,
    metavar="N", help="Maximum number of parts to hide, or functions to choose.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**32 - 2), default=0, show_default=True,
    metavar="N", help="Seed for the choice of targets and for intervals.",
)  # fmt: skip
def eval_(
    options: Options,
    *,
    operations: tuple[str, ...],
    arms: tuple[str, ...],
    slots: int,
    seed: int,
) -> int:
    """Compare models and settings on your own code.

    For types, annotations that people wrote are hidden in a private copy, and compared
    with what the operation writes there. For other operations and your own agents, the
    checks of their results decide. Your files are not changed. Each --arm works on the same
    targets. It may end with options such as ",renderer=json": decoding, renderer, memory (packets,
    masked or raw) and limit. It is safe to press Ctrl-C: the same command continues.
    """
    with working(options, "starting"):
        from remora.cli.views.progress import run_progress
        from remora.evals.arms import parse_arm
        from remora.evals.document import eval_document
        from remora.usecases.evaluate import EvalRequest, evaluate

    request = EvalRequest(
        names=operations,
        arms=tuple(parse_arm(arm) for arm in dict.fromkeys(arms)),
        number=slots,
        seed=seed,
    )
    report = evaluate(
        invocation_of(options),
        request,
        lambda: run_progress(options),
        lambda line: note(options, line),
    )
    document = eval_document(report)
    note(options, *report.notes)
    emit(options, document, _report_lines(document, verbose=options.verbose))
    return report.exit_code


def _report_lines(document: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    from remora.evals.phrases import details, failures, head, heading, row

    for operation in document["operations"]:
        yield from (click.style(line, bold=True) for line in wrapped(heading(operation)))
        rows = [row(operation, arm) for arm in operation["arms"] if not arm["error"]]
        yield from table(head(operation), rows) if rows else ()
        for arm in operation["arms"]:
            yield from (line for text in details(operation, arm) for line in wrapped(text, "  "))
        examples = operation["examples"]
        shown = examples if verbose else examples[:_FEW]
        yield from (line for example in shown for line in indented(_example_text(example), "  "))
        if len(shown) < len(examples):
            yield f"  {count(len(examples) - len(shown), 'more different text')}: -v lists them"
        yield ""
    for line in failures(document["operations"]):
        yield from (click.style(part, fg="red") for part in wrapped(line, "  "))


def _example_text(found: Mapping[str, Any]) -> str:
    texts = (clip(" ".join(found[key].split()), _LONGEST) for key in ("people", "written"))
    people, written = texts
    place = f"{found['path']}:{found['name']}"
    return f"{place}: people wrote {people!r}, {found['arm']} wrote {written!r}"
