"""A judgement in Markdown, for a comment on a pull request."""

from collections.abc import Iterator

from remora.runs.report.check_markdown import list_lines
from remora.runs.report.markdown import code, escape_markdown
from remora.text import count
from remora.usecases.judge.judge_change import Judgement


def judged_markdown(judgement: Judgement) -> Iterator[str]:
    """Yield a heading, the remarks by file, and what was not judged."""
    unread = f", {judgement.unread:,} of them unread" if judgement.unread else ""
    since = f" since {escape_markdown(judgement.since)}" if judgement.since else ""
    so_far = "so far " if judgement.late else ""
    files = f"{so_far}on {count(judgement.files, 'changed Python file')}{since}{unread}"
    if judgement.untested:
        yield f"**Tests not judged**: {escape_markdown(judgement.untested)}\n"
    if not judgement.problems:
        yield f"## Remora: no remarks {files}"
    remarks = [
        f"{code(f'{problem.path}:{problem.line}')} {escape_markdown(problem.text)}"
        for problem in judgement.problems
    ]
    yield from list_lines(f"## Remora: {count(len(remarks), 'remark')} {files}\n", remarks)
    yield from list_lines("\nNot judged:\n", [*map(escape_markdown, judgement.shown_unjudged)])
