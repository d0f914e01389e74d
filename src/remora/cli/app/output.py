"""Prints results to stdout, as a JSON document or as lines, and notes and errors to stderr."""

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import click

from remora.cli.app.options import Options
from remora.errors import RemoraError
from remora.text import escape_line

_COMMAND = re.compile(r"`[^`\n]*`")
_PLACES = ("--root", "--db", "--socket")
_MAX_WIDTH = 200
"""Columns that a cell is padded to (decision). Nearly all names are shorter."""
_LEAST_SPACE = 24
"""Columns that a wrapped last column needs to be beside the others (decision)."""
_COLORS = {
    "tested": "green",
    "checked": "green",
    "accepted": "green",
    "no change": "bright_black",
    "rejected": "bright_black",
    "withdrawn": "bright_black",
    "taken out": "bright_black",
    "reverted": "bright_black",
    "planned": "cyan",
    "pending": "cyan",
    "failed": "yellow",
    "interrupted": "yellow",
    "conflict": "yellow",
    "stale": "yellow",
    "error": "red",
    "damaged": "red",
}


def emit(options: Options, document: Any, lines: Iterable[str]) -> None:
    """Print `document` if `--json` is set, and `lines` otherwise.

    `lines` is not evaluated if it is not printed.
    """
    if options.json:
        print_json(document)
    else:
        print_lines(lines)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts to a folder, by file name. Raises DiskError if a file cannot be written."""
    from remora.files.project_root import find_root
    from remora.regular_file import opened_parent, replace_file
    from remora.trace.content.private_files import disk_errors

    for name, text in texts.items():
        path, content = folder / name, text.encode("utf-8", "surrogateescape")
        with disk_errors(path), opened_parent(path, find_root(Path.cwd()), make=True) as place:
            replace_file(place[1], content, mode=0o666, folder=place[0])


def print_json(document: Any) -> None:
    """Print a JSON document in ASCII, which is safe for any terminal encoding.

    A value of the document may be a sequence that creates its items one by one, such as the jobs of
    a large run. It is also printed one by one.
    """
    import json

    if not isinstance(document, dict) or not any(map(_is_lazy, document.values())):
        click.echo(json.dumps(document, indent=2))
        return
    for number, (key, value) in enumerate(document.items()):
        click.echo("{" if number == 0 else ",")
        click.echo(f"  {json.dumps(key)}: ", nl=False)
        if not _is_lazy(value) or not value:
            click.echo(_indented(list(value) if _is_lazy(value) else value, "  "), nl=False)
            continue
        for place, item in enumerate(value):
            click.echo(f"{',' if place else '['}\n    {_indented(item, '    ')}", nl=False)
        click.echo("\n  ]", nl=False)
    click.echo("\n}")


def _is_lazy(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, list, tuple))


def _indented(value: object, indent: str) -> str:
    import json

    return json.dumps(value, indent=2).replace("\n", f"\n{indent}")


def pasteable(text: str) -> str:
    """Add to commands in a text the options with which this one found the project, or its Hub."""
    words = [part for word in sys.argv for part in word.split("=", 1)]
    for name, value in pairwise(words):
        if name in _PLACES:
            command = "(?![^`]*--root)" if name == "--root" else "hub "
            given = f" {name} {shlex.quote(value)}".replace("\\", r"\\")
            text = re.sub(rf"`(remora {command}[^`]+)`", rf"`\1{given}`", text)
    return text


def note(options: Options, *texts: str) -> None:
    """Print notes to stderr."""
    for text in () if options.quiet else map(pasteable, texts):
        for line in wrap_text(escape_line(text), terminal_width(sys.stderr)):
            click.echo(line, file=sys.stderr)  # which a live display replaces


def print_failure(error: RemoraError) -> None:
    """Print an error that does not end the command, or that its JSON document contains."""
    print_error(error.code, error.message, error.hint, as_json=False)


def print_error(code: str, message: str, hint: str, *, as_json: bool) -> None:
    """Print an error and its hint to stderr, even with `--quiet`."""
    message, hint = pasteable(message), pasteable(hint)
    width = terminal_width(sys.stderr)
    begin = "error: "
    first, *more = _paragraphs(begin + message, width)
    click.echo(click.style(begin, fg="red", bold=True) + first[len(begin) :], err=True)
    for line in more:
        click.echo(line, err=True)
    for line in _paragraphs(hint, None if width is None else width - 2) if hint else ():
        click.echo(f"  {line}", err=True)
    if as_json:
        print_json({"error": {"code": code, "message": message, "hint": hint}})


def _paragraphs(text: str, width: int | None) -> list[str]:
    """Wrap each line separately. Indented lines, such as snippets, are not changed."""
    return [
        part
        for line in plain_lines(text)
        for part in ([line] if line.startswith(" ") else wrap_text(line, width))
    ]


def plain_lines(text: str) -> list[str]:
    return [escape_line(line) for line in text.split("\n")] if text else []


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Return the width of `stream` (default: stdout), or None if it is not a terminal."""
    to = stream or sys.stdout
    if not to.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def wrap_text(text: str, width: int | None, indent: str = "") -> list[str]:
    """Wrap text at `width` columns, and indent all lines except the first.

    A command in backticks is kept on one line, so that it can be copied.
    """
    if width is None:
        return [text]
    import textwrap

    lines = textwrap.wrap(
        _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), text),
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return [line.replace("\0", " ") for line in lines] or [""]


def wrapped(text: str, indent: str = "") -> list[str]:
    """Escape text and wrap it at the width of the terminal. Lines except the first are indented."""
    return wrap_text(escape_line(text), terminal_width(), indent)


def indented(text: str, indent: str = "    ") -> list[str]:
    """Escape text and wrap it at the width of the terminal. All lines are indented."""
    width = terminal_width()
    lines = wrap_text(escape_line(text), None if width is None else max(20, width - len(indent)))
    return [indent + line for line in lines]


def fit_line(text: str) -> str:
    """Cut a line to the terminal width. If stdout is not a terminal, return the line unchanged."""
    width = terminal_width()
    if width is None:
        return text
    from remora.text import clip

    return clip(text, width)


def color_word(word: str) -> str:
    """Return a status or verdict in color."""
    return click.style(word, fg=_COLORS.get(word))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table with aligned columns.

    Numbers are right-aligned. A status in the first column is colored. A very long cell makes only
    its own line longer. On a terminal, the last column is wrapped or has lines of its own if the
    table is too wide. If the others are too wide, too, each row becomes a list. Nothing is cut.
    """
    texts = [[escape_line(str(cell)) for cell in row] for row in rows]
    widths = [
        min(_MAX_WIDTH, max([len(title), *(len(row[column]) for row in texts)]))
        for column, title in enumerate(head)
    ]
    cells = [[row[column] for row in rows] for column in range(len(head))]
    right = [bool(rows) and all(isinstance(cell, int) for cell in column) for column in cells]
    terminal, before = terminal_width(), sum(widths[:-1]) + 2 * (len(widths) - 1)
    is_wide = terminal is not None and before + widths[-1] > terminal
    if terminal is not None and is_wide and (right[-1] or before > terminal):
        return _listed(head, texts, terminal)

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    title, *below = _last_cell(head[-1], terminal, before) if is_wide else [head[-1]]
    shown = [click.style(part, bold=True) for part in (line([*head[:-1], title]), *below)]
    for row in texts:
        last, *more = _last_cell(row[-1], terminal, before) if is_wide else [row[-1]]
        text = line([*row[:-1], last])
        shown.append(text if right[0] else color_word(row[0]) + text[len(row[0]) :])
        shown += more
    return shown


def _last_cell(text: str, terminal: int | None, before: int) -> list[str]:
    """Wrap the last cell of a row after `before` columns, or on the next lines if it is too wide."""
    if terminal is None or len(text) <= terminal - before:
        return [text]
    space = terminal - before
    if space >= _LEAST_SPACE and max(map(len, text.split())) <= space:
        first, *more = wrap_text(text, space)
        return [first, *(" " * before + part for part in more)]
    return ["", *(f"    {part}" for part in wrap_text(text, terminal - 4))]


def _listed(head: Sequence[str], rows: Sequence[Sequence[str]], terminal: int) -> list[str]:
    """Return the cells of a table as lines with their headings, and an empty line between rows.

    Empty cells are left out.
    """
    width, lines = max(map(len, head)) + 2, list[str]()
    for row in rows:
        lines += [""] if lines else []
        for title, cell in ((title, cell) for title, cell in zip(head, row, strict=True) if cell):
            first, *more = wrap_text(cell, max(1, terminal - width))
            lines.append(click.style(title.ljust(width), bold=True) + color_word(first))
            lines += [" " * width + part for part in more]
    return lines
