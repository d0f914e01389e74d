"""The problems of a check in Markdown, for a comment on a pull request."""

from collections.abc import Iterator, Sequence

from remora.runs.report.check_document import Failure, changes_of, taken_out_of, unchecked_of
from remora.runs.report.markdown import code, escape_markdown, escaped, folded_diffs
from remora.runs.report.problems import Problem, fixes_text, marked_texts
from remora.runs.report.report_model import Report
from remora.text import count

_MOST = 50
"""Maximum number of lines in a list."""


def check_markdown(
    report: Report,
    problems: Sequence[Problem],
    files: int,
    command: str = "",
    known: int | None = None,
    unpatched: str = "",
) -> Iterator[str]:
    """Yield a heading, the problems, the command and the diffs that fix them, and what is missing.

    `known` is the number of problems that a baseline left out, or None without one. `unpatched`
    says which changes the patch leaves out.
    """
    new = "" if known is None else "new "
    if problems:
        fixable = sum(problem.fixable for problem in problems)
        total = count(len(problems), f"{new}problem")
        lines = [f"{code(place)} {escape_markdown(text)}" for place, text in marked_texts(problems)]
        yield from list_lines(f"## Remora: {total}, {fixable:,} with a fix\n", lines)
        if fixable:
            fixes = fixes_text(problems, " (marked [*])", judged=bool(report.gates))
            yield f"\n{escape_markdown(fixes[0].upper() + fixes[1:])}:\n\n{code(command)}"
    else:
        yield f"## Remora: no {new}problems in {count(files, 'file')}"
    if known:
        yield f"\n{count(known, 'known problem')} left out."
    taken_out = [*map(_failed, taken_out_of(report))]
    yield from list_lines("\nTaken out by the project's own checks:\n", taken_out)
    unchecked = [*map(_failed, unchecked_of(report, counted=True))]
    yield from list_lines("\nNot checked:\n", unchecked)
    if unpatched:
        yield f"\n{escape_markdown(unpatched)}"
    if problems:
        yield from _diffs(report)
        yield f"\n<sub>Remora {escape_markdown(report.version)} changed nothing.</sub>"


def list_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a title and a list of lines, which is cut if it is long, or nothing without lines."""
    yield from [title] if lines else []
    yield from (f"- {line}" for line in lines[:_MOST])
    if len(lines) > _MOST:
        yield f"- {len(lines) - _MOST:,} more"


def _failed(failure: Failure) -> str:
    place = code(f"{failure.path} {failure.name}".rstrip())
    return f"{failure.operation} {place} {escape_markdown(failure.error)}".lstrip()


def _diffs(report: Report) -> Iterator[str]:
    diffs = []
    for change in changes_of(report):
        name = ":".join(filter(None, (change.path, change.name)))
        title = f"{change.operation}: diff of <code>{escaped(name)}</code>"
        diffs.append((title, "".join(file.diff for file in change.files)))
    yield from folded_diffs(diffs, "`remora.patch`")
