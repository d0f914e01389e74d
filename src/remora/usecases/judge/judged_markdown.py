"""A judgement in Markdown, for a comment on a pull request."""

from collections.abc import Iterator

from remora.runs.report.markdown import code, escape_markdown
from remora.text import count
from remora.usecases.judge.judge_change import Judgement

_MOST = 50
"""Maximum number of remarks that are listed."""


def judged_markdown(found: Judgement) -> str:
    """Return a heading, the remarks by file, and what was not judged."""
    return "\n".join(_lines(found))


def _lines(found: Judgement) -> Iterator[str]:
    files = count(found.files, "changed Python file")
    if found.problems:
        yield f"## Remora: {count(len(found.problems), 'remark')} on {files}\n"
    else:
        yield f"## Remora: no remarks on {files}"
    for problem in found.problems[:_MOST]:
        place = code(f"{problem.path}:{problem.line}")
        yield f"- {place} {escape_markdown(problem.text)}"
    if len(found.problems) > _MOST:
        yield f"- {len(found.problems) - _MOST:,} more"
    if found.unjudged:
        yield "\nNot judged:\n"
        for part in found.unjudged[:_MOST]:
            yield f"- {escape_markdown(f'{part.what}: {part.why}')}"
