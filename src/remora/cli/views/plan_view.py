"""Shows a plan: its jobs, its size and a time estimate, or why there is nothing to do."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from remora.cli.app.options import Options
from remora.cli.app.output import terminal_width, wrap_text, wrapped
from remora.cli.app.project_context import next_command
from remora.cli.views.job_view import job_lines
from remora.cli.views.run_summary import OPEN, run_sentence, with_reasons
from remora.cli.views.run_view import unreadable_lines
from remora.ids import MODULE, NodeKey, split_node_key
from remora.operations.base import NEEDS_WRITER
from remora.runs.execution.run import PreparedRun
from remora.runs.planning.plan import Plan
from remora.runs.records.results import RunView
from remora.runs.records.run_listing import last_gate_seconds
from remora.runs.report.job_findings import lint_left
from remora.runs.report.job_texts import unread_text
from remora.text import count, escape_line, plural

if TYPE_CHECKING:
    from remora.runs.report.next_step import NextStep


def plan_lines(
    prepared: PreparedRun, document: Mapping[str, Any], paths: Sequence[Path], *, verbose: bool
) -> Iterator[str]:
    """Yield the output lines of `--dry-run`. `paths` are the paths given by the user."""
    plan, width = prepared.plan, terminal_width()
    units = {operation.name: operation.unit for operation in prepared.project.operations.all}
    jobs = [
        {**job, "work": _amount_text(plan, job, units.get(job["operation"], ""))}
        for job in document["jobs"]
    ]
    yield from job_lines(jobs, width, verbose=verbose)
    if plan.jobs:
        yield ""
        yield from wrap_text(plan_size(plan), width)
        yield from wrap_text(f"expected: {expected_text(prepared)}", width)
    else:
        yield from wrap_text(f"nothing to do: {_why_nothing(prepared, paths)}", width)
    left = left_lines(plan, verbose=verbose, brief=not (plan.jobs or verbose))
    for line in (*left, *standard_lines(plan)):
        yield from wrap_text(line, width) if not line.startswith(" ") else [line]
    yield from unreadable_lines(document["totals"], width)
    if plan.jobs:
        yield "nothing was run; repeat without --dry-run to run this"


def step_document(options: Options, root: Path, step: "NextStep") -> dict[str, str]:
    """Return what to run next, and a text that says so."""
    command = next_command(options, root, *step.words)
    line = "; ".join(filter(None, (step.why, f"next: {step.missing or f'`{command}`'}")))
    named = {"why": step.why, "missing": step.missing, "costly": step.costly}
    return {"command": command, **named, "text": line}


def _amount_text(plan: Plan, job: Mapping[str, Any], unit: str) -> str:
    most = "up to " if job["operation"] in plan.judges else ""
    return most + count(plan.amounts[job["agent_id"]], unit) if unit else ""


def left_lines(plan: Plan, *, verbose: bool, brief: bool = False) -> Iterator[str]:
    """Yield how many functions have no job although they need work, and why.

    For example `not planned: docstring: 5 functions need a person or a model`. If `verbose` is
    true, they are listed by reason and file. If `brief` is true, only operations without any job
    are listed, unless a model could do their work, because the result says the rest.
    """
    working = {job.operation for job in plan.jobs} if brief else set()
    for operation, reasons in plan.left.items():
        if operation in working or (brief and {*reasons} == {NEEDS_WRITER}):
            continue
        how = "" if verbose else " (-v lists them)"
        yield f"not planned: {operation}: {with_reasons(reasons, 'function')}{how}"
        for reason, nodes in sorted(plan.left_nodes[operation].items()) if verbose else ():
            yield f"  {reason}:"
            yield from _names_by_file(nodes)
    if plan.findings_left and not brief and (plan.jobs or verbose):
        how = "" if verbose else " (-v lists them)"
        left = count(sum(plan.findings_left.values()), "finding")
        yield from wrapped(f"left by lint: {left}: {with_reasons(plan.findings_left)}{how}")
    for reason, findings in sorted(plan.left_findings.items()) if verbose else ():
        yield f"  {reason}:"
        for finding in findings:
            yield from wrapped(f"    {finding}", "      ")


def plan_as_run(plan: Plan, view: RunView) -> Plan:
    """Return a plan with the lint findings that its run leaves, in place of those that it left."""
    left: dict[str, list[str]] = {}
    for reason, _, text in lint_left(view):
        left.setdefault(reason or OPEN, []).append(text)
    return replace(plan, left_findings={reason: tuple(texts) for reason, texts in left.items()})


def standard_lines(plan: Plan) -> Iterator[str]:
    """Yield which lint rules are used, unless the project selects them, and what judges changes."""
    if plan.rules:
        yield f"rules: {plan.rules}"
    for operation, judges in plan.judges.items() if plan.jobs else ():
        yield f"{operation} are judged by {judges}"


def _names_by_file(nodes: Sequence[NodeKey]) -> Iterator[str]:
    for path, group in groupby(nodes, key=lambda key: split_node_key(key)[0]):
        names = [split_node_key(key)[1] for key in group]
        shown = ", ".join("the module" if name == MODULE else name for name in names)
        yield from wrapped(f"    {path}: {shown}", "      ")


def plan_size(plan: Plan) -> str:
    """Return the size of a plan, such as `lint 34, types 2 in 4 files, 9 of 20 findings to fix`."""
    operations = Counter(job.operation for job in plan.jobs)
    named = ", ".join(f"{operation} {number:,}" for operation, number in operations.items())
    files = len({job.path for job in plan.jobs})
    found = plan.findings + sum(plan.findings_left.values())
    of = f" of {found:,}" if found > plan.findings else ""
    findings = f", {plan.findings:,}{of} {plural('finding', found)} to fix" if plan.findings else ""
    return f"{named} in {count(files, 'file')}{findings}"


def expected_text(prepared: PreparedRun) -> str:
    """Return the expected duration of a run, and the time of the gates, as in the last run if known."""
    limit = prepared.project.config.gates.time_s
    took = last_gate_seconds(prepared.project.trace) if limit else None
    time = f"up to {limit:g} s" if took is None else f"about {took:.0f} s"
    gates = f", then {time} for the project's own checks (gates.time_s)" if limit else ""
    seconds = prepared.plan.seconds
    jobs = "duration depends on the model"
    return f"{jobs if seconds is None else f'{about(seconds)} on two cores'}{gates}"


def about(seconds: float) -> str:
    """Return a rounded duration, such as `about 40 seconds` or `about 3 hours`."""
    hours, minutes, tens = seconds / 3600, round(seconds / 60), round(seconds / 10)
    if hours >= 2:
        return f"about {count(round(hours), 'hour')}"
    if minutes > 1:
        return f"about {count(minutes, 'minute')}"
    return f"about {tens * 10} seconds" if tens else "less than 10 seconds"


def _why_nothing(prepared: PreparedRun, paths: Sequence[Path]) -> str:
    plan, where = prepared.plan, ", ".join(map(str, paths)) or str(prepared.project.root)
    if plan.files:
        known = prepared.project.operations
        left = run_sentence((), plan.findings_left, plan.left_nodes, known, 0)
        idle = "no proposal can be made" if plan.left else "no work needed"
        unread = unread_text(plan.unreadable)
        also = f", {unread}" if unread else ""
        return f"{count(plan.files, 'file')} checked{also}; {left or idle}"
    if plan.unreadable:
        unread = unread_text(plan.unreadable)
        return f"no readable Python code in {escape_line(where)}" + (
            f": {unread}" if unread else ""
        )
    if prepared.project.config.exclude and any(
        path.endswith(".py") for path in (prepared.base.files if prepared.base is not None else ())
    ):
        return f"`exclude` in the configuration excludes all Python code in {escape_line(where)}"
    return f"no Python code in {escape_line(where)}"
