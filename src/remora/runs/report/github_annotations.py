"""Problems as workflow commands of GitHub Actions, which shows them beside the changed lines."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path

from msgspec.structs import replace

from remora.ids import unescape_path
from remora.runs.report.check_document import Failure
from remora.runs.report.problems import Problem
from remora.text import count, escape_hidden, escape_line

MAX_ANNOTATIONS = 10
"""GitHub shows ten warnings of a step, and drops all others without a word."""
ChangedLines = Mapping[str, Collection[int]]
"""Numbers of the changed lines, by path."""


def annotations(
    problems: Sequence[Problem],
    root: Path,
    changed: ChangedLines | None,
    failures: Sequence[Failure] = (),
) -> Iterator[str]:
    """Yield up to ten workflow commands, and a line that says how many problems they leave out.

    Jobs and files that failed come first. Each kind of problem is shown before any is shown twice,
    and what has no fix comes first. With `changed`, only problems on changed lines are shown,
    and only unread files that have some.
    """
    if changed is not None:
        failures = [
            failure
            for failure in failures
            if failure.operation or changed.get(unescape_path(failure.path))
        ]
    failed = failures[:MAX_ANNOTATIONS]
    yield from (_failure_command(failure, root) for failure in failed)
    found = list(problems)
    if changed is not None:
        found = [placed for problem in problems if (placed := _on_changed_line(problem, changed))]
    shown = _most_useful(found)[: MAX_ANNOTATIONS - len(failed)]
    yield from (_command(problem, root) for problem in shown)
    left, outside = len(found) - len(shown), len(problems) - len(found)
    parts = [count(left, "more problem")] if left else []
    parts += [f"{count(outside, 'problem')} on lines that did not change"] if outside else []
    if parts:
        yield f"not annotated: {', '.join(parts)}"


def _on_changed_line(problem: Problem, changed: ChangedLines) -> Problem | None:
    """Return the problem at the first changed line of its lines, or None."""
    lines = changed.get(unescape_path(problem.path), ())
    first = next((n for n in range(problem.line, problem.end_line + 1) if n in lines), None)
    return None if first is None else replace(problem, line=first)


def _most_useful(problems: Sequence[Problem]) -> list[Problem]:
    seen: Counter[tuple[str, str]] = Counter()
    ranked = []
    for problem in sorted(problems, key=attrgetter("fixable")):
        kind = problem.operation, problem.code
        seen[kind] += 1
        ranked.append((seen[kind], problem))
    return [problem for _, problem in sorted(ranked, key=itemgetter(0))]


def _command(problem: Problem, root: Path) -> str:
    path = escape_line(str(root / unescape_path(problem.path)))
    place = f"file={_property(path)},line={problem.line}"
    if problem.end_line > problem.line:
        place += f",endLine={problem.end_line}"
    title, _, message = problem.text.partition(": ")
    shown = f"{escape_line(problem.path)}:{problem.line}: {message}"
    return f"::warning title={_property(f'Remora ({title})')},{place}::{_data(shown)}"


def _failure_command(failure: Failure, root: Path) -> str:
    path = escape_line(str(root / unescape_path(failure.path)))
    title = _property(f"Remora ({failure.operation})" if failure.operation else "Remora")
    message = escape_line(f"not checked: {failure.path} {failure.name}".rstrip())
    message += f": {escape_hidden(failure.error)}"
    return f"::error title={title},file={_property(path)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
