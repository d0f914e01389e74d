"""Prints the diffs of a run."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from remora.cli.app.options import Options
from remora.cli.app.output import color_word, note, print_lines
from remora.code.syntax.diff_parts import DiffLine, diff_lines
from remora.files.git import git_output
from remora.ids import display_name
from remora.statuses import PENDING, status_text
from remora.text import escape_line

_STYLES: dict[str, dict[str, Any]] = {
    "head": {"bold": True}, "hunk": {"fg": "cyan"}, "add": {"fg": "green"}, "del": {"fg": "red"},
    "keyword": {"bold": True}, "string": {"italic": True}, "comment": {"italic": True},
}  # fmt: skip


def print_diffs(options: Options, diffs: list[dict[str, Any]], why: str = "") -> None:
    """Print diffs to stdout, and what they are to stderr."""
    if not diffs:
        click.echo(f"no changes to show{why}", err=True)
    for entry in diffs:
        _print_diff(entry)
    settled = Counter(
        entry["review"] for entry in diffs if entry["review"] not in ("", None, PENDING)
    )
    if settled:
        pending = len(diffs) - settled.total()
        note(
            options,
            f"not pending: {states_text(settled)}" + (f"; pending: {pending}" if pending else ""),
        )


def print_stat(root: Path, diffs: Iterable[Mapping[str, Any]]) -> None:
    """Print the numbers of changed lines of each file, as git does."""
    patch = "".join(f"{entry['diff']}\n" for entry in diffs).encode()
    text = git_output(root, "apply", "--stat", "--allow-empty", stdin=patch)
    print_lines(escape_line(line) for line in text.decode(errors="replace").splitlines())


def states_text(numbers: Counter[str]) -> str:
    """Return the number of change sets in each state, such as `3 rejected, 1 reverted`."""
    return ", ".join(f"{number} {status_text(state)}" for state, number in numbers.items())


def _print_diff(entry: dict[str, Any]) -> None:
    """Print a diff to stdout and its heading to stderr, so that piped output is a valid patch.

    It is colored and escaped instead if it is for a terminal, or if colors are asked for.
    """
    name = escape_line(f"{entry['operation']} {display_name(entry['node_id'])}")
    state = status_text(entry["review"] or f"{entry['status']}, not checked")
    click.echo(f"{click.style(name, bold=True)}  {color_word(state)}", err=True)
    for reason in entry["reasons"]:
        click.echo(f"  {escape_line(reason)}", err=True)
    text: str = entry["diff"]
    if is_patch():
        click.echo(text, nl=not text.endswith("\n"))
        return
    print_lines(styled_lines(text))


def is_patch() -> bool:
    """Return True if diffs go to another program, without colors."""
    return not (sys.stdout.isatty() or click.get_current_context().color)


def styled_lines(diff: str) -> list[str]:
    """Return the styled lines of a diff.

    Removed lines are red and added ones green. Keywords are bold, strings and comments italic, and
    words that another version of the line does not have are underlined.
    """
    return [_styled_line(line) for line in diff_lines(diff)]


def _styled_line(line: DiffLine) -> str:
    shown = ""
    for number, part in enumerate(line.parts, 1):
        is_last = number == len(line.parts)
        text = escape_line(part.text.removesuffix("\r") if is_last else part.text)
        styles = _STYLES.get(line.kind, {}) | _STYLES.get(part.syntax, {})
        styles |= {"underline": True} if part.is_other else {}
        shown += click.style(text, **styles) if styles and text else text
    return shown
