"""A judgement in Markdown, for a comment on a pull request."""

from collections.abc import Iterator

from remora.runs.report.check_markdown import list_lines
from remora.runs.report.markdown import code, escape_markdown
from remora.usecases.judge.judge_change import Judgement


def judged_markdown(judgement: Judgement) -> Iterator[str]:
    """Yield a heading, the remarks by file, and what was not judged."""
    if judgement.untested:
        yield f"**Tests not judged**: {escape_markdown(judgement.untested)}\n"
    yield f"## Remora: {escape_markdown(judgement.sentence)}"
    remarks = [
        f"{code(f'{problem.path}:{problem.line}')} {escape_markdown(problem.text)}"
        for problem in judgement.problems
    ]
    yield from list_lines("", remarks)
    yield from list_lines("\nNot judged:\n", [*map(escape_markdown, judgement.shown_unjudged)])
