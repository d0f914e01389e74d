"""The `eval` command group, and `eval memory`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from remora.cli.agents.eval_restore import restore
from remora.cli.app.invocation import invocation_of
from remora.cli.app.name_parameters import STREAM
from remora.cli.app.options import Options, command, group
from remora.cli.app.output import emit, note, table, terminal_width, wrap_text
from remora.cli.app.project_context import records_of
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.evals.eval_report import Arm, EvalReport, ToolCounts

_HEAD = ("TOOL", "CALLS", "TOKENS", "MOST", "COVERED", "BY MEMORY", "DROPPED", "OVER")
"""OVER is shown only if a request would have exceeded its limit."""


@command(
    "memory",
    examples=(
        "remora eval memory",
        "remora eval memory --limit 400 --limit 500",
        "remora eval memory --summarizers default --renderer json --run last",
    ),
)
@click.option(
    "--summarizers",
    multiple=True,
    type=click.Choice(("tool_side", "tool_specific", "default")),
    help="Evaluate this value of runner.memory.summarizer_mode.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Evaluate this value of runner.memory.packet_size_limit.",
)
@click.option(
    "--renderer",
    "renderers",
    multiple=True,
    type=click.Choice(("lines", "json", "functiongemma", "history")),
    help="Evaluate this renderer; history sends raw outputs without a packet.",
)
@click.option(
    "--run",
    "names",
    type=STREAM,
    multiple=True,
    metavar="RUN|AGENT",
    help="Use only this run or agent; repeatable. [default: all]",
)
def memory(
    options: Options,
    *,
    summarizers: tuple[str, ...],
    limits: tuple[int, ...],
    renderers: tuple[str, ...],
    names: tuple[str, ...],
) -> int:
    """Compare memory settings on recorded streams.

    No models or tools are run. For each tool, the output shows the number of tokens in the requests
    that led to its calls, the share of argument values that were in the packet, and the facts from
    its results that are missing from the next packet. Options can be repeated, and every
    combination is compared with the recorded settings.
    """
    from remora.evals.eval_setting import setting_combinations
    from remora.evals.experiments import compare_settings, select_agents

    folder = records_of(options)
    asked = setting_combinations(summarizers, limits, renderers)
    report = compare_settings(
        folder, folder.root, invocation_of(options).operations, select_agents(folder, names), asked
    )
    for name, why in report.skipped:
        note(options, f"skipped {name}: {why}")
    for text in report.notes:
        note(options, text)
    emit(options, report.as_json(), _lines(report))
    return 1 if report.skipped else 0


eval_ = group("eval", "Evaluate settings, operations and models.", (memory, restore))


def _lines(report: "EvalReport") -> Iterator[str]:
    if not report.arms[0].tools:
        yield "no calls recorded yet; run `remora analyze` to record some"
        return
    columns = len(_HEAD) - (not any(arm.total().too_large for arm in report.arms))
    for arm in report.arms:
        yield click.style(escape_line(f"{arm.setting.name}:"), bold=True)
        yield from table(_HEAD[:columns], [row[:columns] for row in _rows(arm)])
        yield ""
    source = f"from {count(report.streams, 'stream')}; tokens by {'; '.join(report.counters)}"
    yield from wrap_text(escape_line(source), terminal_width())


def _rows(arm: "Arm") -> Iterator[Sequence[object]]:
    for tool, tally in sorted(arm.tools.items()):
        yield [tool, *_row_cells(tally)]
    if len(arm.tools) > 1:
        yield ["all", *_row_cells(arm.total())]


def _row_cells(tally: "ToolCounts") -> list[object]:
    counts = tally.as_json()
    return [
        tally.calls,
        round(counts["packet_tokens"]) if tally.calls else "-",
        tally.most_tokens if tally.calls else "-",
        f"{counts['coverage']:.0%} of {tally.values}" if tally.values else "-",
        f"{counts['remembered']:.0%}" if tally.values > tally.given else "-",
        f"{tally.dropped} of {tally.facts}" if tally.facts else "-",
        tally.too_large,
    ]
