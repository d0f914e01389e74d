"""The host function that checks files with ruff, and fixes of ruff that are applied together."""

from collections.abc import Sequence

from remora.code.edit.edits import Edit, apart, apply_edits
from remora.code.edit.text_lines import Text, lines_of
from remora.code.syntax.source import parse_error
from remora.tools.host.ruff.finding import Finding, edits_of, has_fix
from remora.tools.tree import ToolTree

_Edits = tuple[Edit, ...]
"""The edits of a fix."""
_MOST_PARSES = 16
"""Parts of the fixes that are tried (decision): halves of 8,000 fixes. The next pass fixes the others."""


def ruff_check(
    place: ToolTree,
    paths: list[str],
    select: list[str] | None = None,
    unsafe: bool = False,
    preview: bool = False,
) -> list[Finding]:
    """Return the ruff findings in files and folders, sorted by path, line, column and code.

    Each finding has `code, message, path, line, column, end_line, end_column, fix`. Lines and
    columns start at 1, and columns are counted in characters. A syntax error has the code
    `invalid-syntax`. `fix` is null or has `applicability` (`safe`, `unsafe`, `display`), `message`
    and `edits`. Each edit has `line, column, end_line, end_column, content`. Unsafe fixes are
    included only if `unsafe` is True. `select` replaces the configured rules. If `preview` is True,
    rules and fixes are those of ruff's preview mode. Files that the configuration excludes have no
    findings.
    """
    return place.ruff.check(paths, select, unsafe=unsafe, preview=preview)


def apply_fixes_together(text: Text, findings: Sequence[Finding], *, unsafe: bool) -> bytes:
    """Return the text with as many of the findings' fixes as can be applied together.

    Unsafe fixes are applied only if `unsafe` is True.
    """
    lines = lines_of(text.body)
    fixed = (finding for finding in findings if has_fix(finding, unsafe=unsafe))
    wanted = [edits_of(text.body, finding["fix"], lines) for finding in fixed]
    return _with_fixes(text, _compatible(text, wanted))


def _compatible(text: Text, wanted: Sequence[_Edits]) -> list[_Edits]:
    """Return the fixes that can be applied together.

    Two fixes that do not overlap may make the file invalid, for example if each of them removes one
    of the last two statements of a block.
    """
    chosen = [wanted[number] for number in apart(wanted)]
    if parse_error(text.bytes()):
        return chosen
    taken, pending = list[_Edits](), [chosen]
    for _ in range(_MOST_PARSES):
        if not pending:
            break
        part = pending.pop()
        if not parse_error(_with_fixes(text, [*taken, *part])):
            taken += part
        elif len(part) > 1:
            pending += [part[1::2], part[::2]]
    return taken


def _with_fixes(text: Text, wanted: Sequence[_Edits]) -> bytes:
    edits = [edit for edits in wanted for edit in edits]
    return text._replace(body=apply_edits(text.body, edits)).bytes()
