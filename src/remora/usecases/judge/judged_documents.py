"""A judgement in Markdown, for a comment on a pull request, and as one HTML file."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from remora.runs.report.markdown import code, escape_markdown, escaped
from remora.text import count
from remora.usecases.judge.judge_change import Judgement
from remora.version import __version__

_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
td, th {{ padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>"""

_MOST_IN_MARKDOWN = 50
"""Maximum number of remarks that are listed."""


def judged_html(found: Judgement) -> str:
    """Return a page with all remarks, and what was not judged. All texts are escaped."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Judgement) -> Iterator[str]:
    files = count(found.files, "changed Python file")
    result = f"{count(len(found.problems), 'remark')} on {files}"
    title = f"{Path(found.root).name}: {result if found.problems else f'no remarks on {files}'}"
    yield _HEAD.format(title=escaped(title))
    if found.problems:
        rows = [
            (f"{problem.path}:{problem.line}", problem.code, problem.text)
            for problem in found.problems
        ]
        yield from _table("Remarks", ("where", "rule", "what"), rows)
    if found.unjudged:
        parts = [(part.what, part.why) for part in found.unjudged]
        yield from _table("Not judged", ("what", "why"), parts)
    yield f"</main>\n<footer><p>Remora {escaped(__version__)}</p></footer>\n</body>\n</html>"


def _table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a heading and a table."""
    names = "".join(f"<th>{escaped(name)}</th>" for name in columns)
    yield f"<h2>{escaped(heading)}</h2>\n<table><tr>{names}</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>"
    yield "</table>"


def judged_markdown(found: Judgement) -> str:
    """Return a heading, the remarks by file, and what was not judged."""
    return "\n".join(_markdown_lines(found))


def _markdown_lines(found: Judgement) -> Iterator[str]:
    files = count(found.files, "changed Python file")
    if found.problems:
        yield f"## Remora: {count(len(found.problems), 'remark')} on {files}\n"
    else:
        yield f"## Remora: no remarks on {files}"
    for problem in found.problems[:_MOST_IN_MARKDOWN]:
        place = code(f"{problem.path}:{problem.line}")
        yield f"- {place} {escape_markdown(problem.text)}"
    if len(found.problems) > _MOST_IN_MARKDOWN:
        yield f"- {len(found.problems) - _MOST_IN_MARKDOWN:,} more"
    if found.unjudged:
        yield "\nNot judged:\n"
        for part in found.unjudged[:_MOST_IN_MARKDOWN]:
            yield f"- {escape_markdown(f'{part.what}: {part.why}')}"
