"""The problems of a check in Markdown, for a comment on a pull request."""

from collections.abc import Iterator, Sequence

from remora.pictures.markup import escaped
from remora.runs.report.check_document import changes_of, failures_of
from remora.runs.report.markdown import code, escape_markdown, folded_diffs
from remora.runs.report.problems import Problem
from remora.runs.report.report_model import Report
from remora.text import count

_MOST = 50
"""Maximum number of problems that are listed."""


def check_markdown(report: Report, problems: Sequence[Problem], files: int, new: str = "") -> str:
    """Return a heading, the problems, and the diffs that fix them.

    `new` is a word before `problems`, if known problems are left out.
    """
    return "\n".join(_lines(report, problems, files, new)) + "\n"


def _lines(report: Report, problems: Sequence[Problem], files: int, new: str) -> Iterator[str]:
    if not problems:
        yield f"## Remora: no {new}problems in {count(files, 'file')}"
        yield from _not_checked(report)
        return
    fixable = sum(each.fixable for each in problems)
    total = count(len(problems), f"{new}problem")
    yield f"## Remora: {total}, {fixable:,} with a fix\n"
    for each in problems[:_MOST]:
        yield f"- {code(f'{each.path}:{each.line}')} {escape_markdown(each.text)}"
    if len(problems) > _MOST:
        yield f"- {len(problems) - _MOST:,} more"
    yield from _not_checked(report)
    yield from _diffs(report)
    yield f"\n<sub>Remora {escape_markdown(report.version)} changed nothing.</sub>"


def _not_checked(report: Report) -> Iterator[str]:
    """Yield the jobs that failed and the files that cannot be parsed."""
    lines = [
        f"- {each.operation} {code(f'{each.path} {each.name}'.rstrip())} {escape_markdown(each.error)}"
        for each in failures_of(report)
    ]
    lines += [
        f"- {code(each['path'])} {escape_markdown(each['detail'])}" for each in report.unreadable
    ]
    if lines:
        yield "\nNot checked:\n"
        yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"- {len(lines) - _MOST:,} more"


def _diffs(report: Report) -> Iterator[str]:
    diffs = []
    for change in changes_of(report):
        name = ":".join(filter(None, (change.path, change.name)))
        title = f"{change.operation}: diff of <code>{escaped(name)}</code>"
        diffs.append((title, "".join(file.diff for file in change.files)))
    yield from folded_diffs(diffs, "`remora.patch`")
