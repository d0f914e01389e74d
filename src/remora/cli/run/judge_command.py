"""The `judge` command, which judges a change."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import PATH, Options, command, unsandboxed_option
from remora.cli.app.output import (
    note,
    print_json,
    print_lines,
    terminal_width,
    wrap_text,
    write_files,
)
from remora.cli.app.project_context import invocation_of, open_with_consent
from remora.cli.app.working import working
from remora.errors import UsageError
from remora.text import too_large

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation
    from remora.runs.report.problems import Problem
    from remora.usecases.judge.judge_change import Judgement

_MOST_BYTES = 64 * 1024 * 1024
"""The largest diff that is read (decision)."""
_INDEX = "GIT_INDEX_FILE"
"""The variable that git sets for hooks of `git commit -a` and `git commit FILE`."""
_UNTESTED = 4
"""The exit code if there is no remark, but no test could be run."""


@command(
    "judge",
    examples=(
        "remora judge",
        "remora judge origin/main..HEAD",
        "remora judge origin/main --add-tests",
        "remora judge --staged --static",
        "gh pr diff 12 | remora judge --diff -",
        "remora judge main...feature --seconds 600 --format markdown",
    ),
)
@click.argument("revisions", metavar="[REV..REV]", default="")
@click.option("--diff", type=PATH, metavar="FILE", help="Judge a unified diff of your files.")
@click.option("--staged", is_flag=True, help="Judge what is staged for the next commit.")
@click.option("--static", is_flag=True, help="Run no code of the project.")
@click.option(
    "--seconds", type=click.IntRange(1, 3600), default=20, show_default=True,
    help="Stop planting faults after this time, or 20 if it is less. Tests that the change reaches may take longer.",
)  # fmt: skip
@click.option(
    "--add-tests",
    is_flag=True,
    help="Add the cases that remarks name to tests, as changes to review.",
)
@unsandboxed_option
@click.option(
    "--format", "form", type=click.Choice(("text", "github", "markdown", "sarif")),
    default="text", show_default=True, help="Output format; --json prints JSON.",
)  # fmt: skip
@click.option(
    "--reports", type=PATH, metavar="DIR", help="Also write JSON, SARIF and Markdown to DIR.",
)  # fmt: skip
@click.option("--baseline", type=PATH, metavar="FILE", help="Leave out the known problems in FILE.")
@click.option("--update-baseline", is_flag=True, help="Replace the known problems by those found.")
def judge(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    *,
    revisions: str,
    diff: Path | None,
    staged: bool,
    static: bool,
    seconds: int,
    add_tests: bool,
    allow_unsandboxed: bool,
    form: str,
    reports: Path | None,
    baseline: Path | None,
    update_baseline: bool,
) -> int:
    """Judge a change that a person, an agent or a bot has made.

    REV..REV is a range of commits, REV...REV one from their merge base, and REV alone is compared
    with your files (default: HEAD, or if they are equal, where the branch began). It names tests
    that cannot fail, repeat another test, assert only what their mocks return, or depend on where
    they run; changed lines that no test notices; docstrings that the change made wrong; and checks
    of the project that got worse. What could not be judged is named with the reason. The exit code
    is 0 without remarks, even if the time was over first, 4 if moreover no test ran that reaches
    it, and 1 otherwise. Tests run in isolation, in copies of the project; nothing is changed.

    --add-tests starts a run that adds the missing case to an existing test where a changed line
    has one that no test notices. `remora review` shows the changes, and `remora accept` writes them.
    """
    if (diff is not None) + staged + bool(revisions) > 1:
        raise UsageError("--diff, --staged and REV..REV exclude each other", hint="use one of them")
    if options.json and form != "text":
        raise UsageError(f"--json conflicts with --format {form}", hint="use only one of them")
    if add_tests and (diff is not None or staged or static or ".." in revisions):
        raise UsageError(
            "--add-tests adds to your files: it conflicts with --diff, --staged, --static and REV..REV",
            hint="use REV alone, which is compared with your files",
        )
    if add_tests and form != "text":
        raise UsageError(f"--add-tests conflicts with --format {form}", hint="use --json")
    with working(options, "starting") as tell:
        from remora.runs.execution.run import RunRequest
        from remora.usecases.check.baseline import read_baseline
        from remora.usecases.judge.change_trees import ChangeRequest
        from remora.usecases.judge.judge_change import JudgeObserver, judge_change

        known = read_baseline(baseline, RunRequest(), update=update_baseline)
        flags = {"workspace.allow_unsandboxed": True} if allow_unsandboxed else None
        invocation = invocation_of(options, flags)
        name = invocation.environ.get(_INDEX)
        index = invocation.folder / name if name else None
        request = ChangeRequest(revisions, staged, None if diff is None else read_diff(diff), index)
        show = [] if options.json or form != "text" else [_print_remark]
        observer = JudgeObserver(tell, *show)
        found = judge_change(
            invocation, request, observer, seconds=seconds, static=static, baseline=known
        )
    if reports is not None:
        _write_reports(found, reports)
    if add_tests and options.json:
        code, run = _run_added_tests(options, invocation, found)
        print_json({**_judgement_document(found), "run": run})
        return code or _exit_code(found)
    _print_judgement(options, found, form)
    if add_tests:
        return _run_added_tests(options, invocation, found)[0] or _exit_code(found)
    return _exit_code(found)


def _run_added_tests(
    options: Options, invocation: "Invocation", judgement: "Judgement"
) -> tuple[int, dict[str, Any] | None]:
    """Add the missing cases, and print the results of the run unless the output is JSON.

    Return the exit code of the run, and its document, which is None if there was nothing to add.
    """
    if not judgement.missed:
        note(options, "no test is added: no remark names a line that a further case would notice")
        return 0, None
    from remora.cli.run.foreground_run import conclude_run, print_isolation
    from remora.cli.views.plan_view import expected_text, left_lines, plan_size
    from remora.cli.views.progress import run_progress
    from remora.cli.views.run_view import jobs_exit_code
    from remora.runs.records.results import run_document
    from remora.usecases.analyze.session import open_session
    from remora.usecases.judge.judge_change import added_tests

    project = open_with_consent(options, invocation, needs_consent=True)
    with working(options, "looking for tests that have a form for further cases"):
        session = open_session(invocation, added_tests(judgement), project)
    with session:
        prepared = session.run
        note(options, *left_lines(prepared.plan, verbose=options.verbose))
        if not prepared.plan.jobs:
            return 0, None
        size = f"{plan_size(prepared.plan)}: {expected_text(prepared)}"
        note(options, size, f"run {prepared.run_id}")
        print_isolation(options)
        done = session.execute(lambda: run_progress(options))
    if not options.json:
        told = replace(options, verbose=True)  # with the reason for each case that is not added
        code = conclude_run(told, done.project, done.run_id, done.stopped, announced=True)
        return code, None
    shown = run_document(done.project, done.view)
    document = {**shown, "jobs": list(shown["jobs"])}
    return 130 if done.stopped else jobs_exit_code(done.view.jobs), document


def _exit_code(found: "Judgement") -> int:
    return 1 if found.problems else _UNTESTED if found.untested else 0


def read_diff(file: Path) -> bytes:
    from remora.regular_file import read_regular

    if str(file) == "-":
        content = sys.stdin.buffer.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"the diff is {too_large(len(content), _MOST_BYTES)}")
        return content
    try:
        return read_regular(file, _MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint="name a file with a diff") from error


def _print_remark(problem: "Problem") -> None:
    from remora.text import escape_line

    line = f"{escape_line(problem.path)}:{problem.line}: {problem.text}"
    for part in wrap_text(line, terminal_width(), "  "):
        print(part, flush=True)


def _print_judgement(options: Options, found: "Judgement", form: str) -> None:
    if options.json:
        print_json(_judgement_document(found))
    elif form == "sarif":
        print_json(_sarif_document(found))
    elif form == "markdown":
        from remora.usecases.judge.judged_markdown import judged_markdown

        print_lines(judged_markdown(found))
    else:
        from remora.runs.report.github_annotations import annotations

        marks = annotations(found.problems, Path(found.root), None)
        print_lines(marks if form == "github" else _judgement_lines(found))
        note(options, *(f"not judged: {text}" for text in found.shown_unjudged))


def _write_reports(found: "Judgement", folder: Path) -> None:
    from remora.runs.report.report_formats import as_json
    from remora.usecases.judge.judged_markdown import judged_markdown

    texts = {
        "remora.json": as_json(_judgement_document(found)),
        "remora.sarif": as_json(_sarif_document(found)),
        "remora.md": "".join(f"{line}\n" for line in judged_markdown(found)),
    }
    write_files(folder, texts)


def _judgement_document(found: "Judgement") -> Any:
    import msgspec

    document = msgspec.to_builtins(found)
    del document["missed"], document["around"]
    return document


def _sarif_document(found: "Judgement") -> Any:
    from remora.runs.report.sarif import sarif_of_problems
    from remora.version import __version__

    return sarif_of_problems(found.problems, __version__, found.shown_unjudged)


def _judgement_lines(found: "Judgement") -> Iterator[str]:
    if found.untested:
        yield from wrap_text(f"tests not judged: {found.untested}", terminal_width(), "  ")
    why = ": not all was judged, no time was left (`--seconds` gives more)" if found.late else ""
    yield from wrap_text(f"{found.sentence}{why}", terminal_width(), "  ")
