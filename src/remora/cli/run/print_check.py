"""Runs `check` and prints the problems."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from os.path import relpath
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, cast

import click
import msgspec

from remora.cli.app.options import Options
from remora.cli.app.output import (
    note,
    print_json,
    print_lines,
    terminal_width,
    wrap_text,
    write_files,
)
from remora.cli.app.project_context import invocation_of, next_command
from remora.cli.app.working import working
from remora.cli.views.diff_view import styled_lines
from remora.cli.views.plan_view import left_lines, plan_as_run, standard_lines
from remora.cli.views.progress import run_progress
from remora.cli.views.run_view import jobs_exit_code, unreadable_lines
from remora.errors import ModelError
from remora.ids import unescape_path
from remora.runs.execution.run import RunObserver, RunRequest
from remora.runs.report.check_document import (
    changes_of,
    check_document,
    failures_of,
    taken_out_of,
    unchecked_of,
)
from remora.runs.report.check_markdown import check_markdown
from remora.runs.report.github_annotations import annotations
from remora.runs.report.job_findings import lint_left
from remora.runs.report.job_texts import unread_text
from remora.runs.report.problems import fixes_text, marked_texts
from remora.runs.report.report_formats import as_json
from remora.runs.report.sarif import sarif
from remora.text import count, escape_line
from remora.usecases.check.baseline import Baseline
from remora.usecases.check.check_files import CheckResult, check_files

_MOST_PATHS = 5
"""Maximum number of paths in the command to run next. Without any, it selects the whole project."""


class CheckOutput(NamedTuple):
    """Format, folder for reports, and known problems."""

    form: str
    diff: bool
    reports: Path | None
    baseline: Baseline | None


def run_check(
    options: Options,
    request: RunRequest,
    flags: Mapping[str, Any],
    output: CheckOutput,
    max_time: float | None,
) -> int:
    """Check files, print the problems and return the exit code."""
    planning = ExitStack()

    def watch_run() -> AbstractContextManager[RunObserver]:
        if sys.stderr.isatty():  # elsewhere, the line on long work stays
            planning.close()
        # hooks and CI show stderr, too: no line for each job there
        return run_progress(options, jobs=False)

    invocation = invocation_of(options, flags)
    with planning:
        planning.enter_context(working(options, "looking for problems"))
        result = check_files(
            invocation, request, watch_run, max_time=max_time, baseline=output.baseline
        )
    command = _next_command(options, result, request, flags)
    if output.reports is not None:
        _write_check_reports(output.reports, result, command)
    if options.json:
        print_json(_document_of(result))
    elif output.form == "sarif":
        print_json(sarif(result.report, result.problems))
    else:
        print_lines(_check_lines(result, command, output))
    _note_gaps(options, result, output)
    return _exit_code(result)


def _check_lines(result: CheckResult, command: str, output: CheckOutput) -> Iterator[str]:
    width = terminal_width()
    if output.form == "github":
        failures = unchecked_of(result.report)
        yield from annotations(result.problems, result.root, result.changed, failures)
    else:
        for place, text in marked_texts(result.problems):
            yield from wrap_text(escape_line(f"{place}: {text}"), width, "  ")
    for change in changes_of(result.report) if output.diff else ():
        yield ""
        for file in change.files:
            yield from styled_lines(file.diff)
    if output.diff and result.problems:
        yield ""
    lost = [failure.text for failure in taken_out_of(result.report)]
    judged = [*map(escape_line, result.report.gates), *lost] if output.form != "github" else []
    for line in (*_total_lines(result, command, output), *judged):
        yield from wrap_text(line, None if line.startswith("  ") else width, "  ")


def _total_lines(result: CheckResult, command: str, output: CheckOutput) -> Iterator[str]:
    """Yield the number of problems, and the indented command that fixes them."""
    new = "" if result.known is None else "new "
    left = 0 if new else sum(number for _, number, _ in lint_left(result.view))
    unread = unread_text(result.report.unreadable)
    also = f"; {unread}" if unread else ""
    if not result.problems:
        if left:
            yield f"nothing that Remora can fix; ruff reports {count(left, 'finding')} (-v lists them){also}"
        elif result.files:
            yield f"no {new}problems in {count(result.files, 'file')}{also}"
        else:
            yield f"nothing was checked: {unread or 'no Python code is selected'}"
        return
    if left:
        yield f"ruff reports {count(left, 'other finding')} (-v lists them)"
    if unread:
        yield unread
    files = count(len({problem.path for problem in result.problems}), "file")
    total = f"{count(len(result.problems), f'{new}problem')} in {files}"
    if not any(problem.fixable for problem in result.problems):
        need, them = ("needs", "it") if len(result.problems) == 1 else ("need", "them")
        file = "FILE" if output.baseline is None else quote(str(output.baseline.file))
        yield f"{total}, which {need} a person or a model: edit {them}, or with a model, run"
        yield f"  {command}"
        yield escape_line(f"`--baseline {file} --update-baseline` accepts {them} as known")
        return
    mark = " (marked [*])" if output.form == "text" else ""
    yield f"{total}; {fixes_text(result.problems, mark, judged=bool(result.report.gates))}:"
    yield f"  {command}"


def _next_command(
    options: Options, result: CheckResult, request: RunRequest, flags: Mapping[str, Any]
) -> str:
    if not any(problem.fixable for problem in result.problems):
        return escape_line(next_command(options, result.root, "analyze", "--decisions", "model"))
    words = [*_command_words(request, flags), *_command_paths(result, request)]
    analyze = next_command(options, result.root, "analyze", *words)
    accept = next_command(options, result.root, "accept", "last", "--all")
    return escape_line(f"{analyze} && {accept}")  # GitHub would obey a line of a file name


def _command_words(request: RunRequest, flags: Mapping[str, Any]) -> list[str]:
    """Return the arguments of `analyze` that select the same work."""
    words = [word for name in request.operations for word in ("-o", name)]
    words += ["--unsafe-fixes"] if request.unsafe_fixes else []
    words += ["--allow-unsandboxed"] if flags.get("workspace.allow_unsandboxed") else []
    words += [f"--changed={request.changed}"] if request.changed is not None else []
    select = flags.get("operations.lint.select")
    words += ["--select", ",".join(select)] if select else []
    model = flags.get("model.base_url") or flags.get("model.name")
    words += ["--model", model] if model else []
    return words


def _command_paths(result: CheckResult, request: RunRequest) -> list[str]:
    """Return the files with problems, or if they are many, the given Python files and folders."""
    given = [str(path) for path in request.paths if path.suffix == ".py" or path.is_dir()]
    fixable = {unescape_path(problem.path) for problem in result.problems if problem.fixable}
    if (given or result.known) and len(fixable) <= _MOST_PATHS:
        given = sorted(relpath(result.root / path) for path in fixable)
    given = [f"./{path}" if path.startswith("-") else path for path in given]
    return given if len(given) <= _MOST_PATHS else []


def _note_gaps(options: Options, result: CheckResult, output: CheckOutput) -> None:
    """Print what was not checked or known, and with `-v` what needs a person or a model."""
    known, baseline = count(result.known or 0, "known problem"), output.baseline
    if baseline is not None and baseline.update:
        failed = result.stopped or failures_of(result.report)
        said = "was not changed" if failed else f"has {known} now"
        note(options, f"{baseline.file} {said}")
    elif result.known:
        note(options, f"{known} left out")
    for failure in failures_of(result.report):
        note(options, f"not checked: {failure.text}")
    for line in unreadable_lines({"unreadable": list(result.report.unreadable)}, None):
        note(options, click.unstyle(line))
    if output.reports is not None and result.unpatched:
        note(options, result.unpatched)
    if options.verbose:
        plan = plan_as_run(result.plan, result.view)
        note(options, *left_lines(plan, verbose=True), *standard_lines(plan))
    if result.stopped:
        note(options, f"{result.stopped}: not everything was checked")


def _exit_code(result: CheckResult) -> int:
    if result.stopped:
        return 130
    if jobs_exit_code(result.view.jobs) == ModelError.exit_code:
        return ModelError.exit_code
    unread = unread_text(result.report.unreadable)
    return 1 if result.problems or failures_of(result.report) or unread else 0


def _document_of(result: CheckResult) -> dict[str, Any]:
    """Return the document of `check --json`."""
    found = check_document(result.root, result.report, result.problems, result.nodes)
    return cast(dict[str, Any], msgspec.to_builtins(found))


def _write_check_reports(folder: Path, result: CheckResult, command: str) -> None:
    """Write remora.json, remora.sarif, remora.md and remora.patch to a folder.

    Raises DiskError if a file cannot be written.
    """
    report, problems = result.report, result.problems
    lines = check_markdown(report, problems, result.files, command, result.known, result.unpatched)
    texts = {
        "remora.json": as_json(_document_of(result)),
        "remora.sarif": as_json(sarif(report, problems)),
        "remora.md": "".join(f"{line}\n" for line in lines),
        "remora.patch": result.patch,
    }
    write_files(folder, texts)
