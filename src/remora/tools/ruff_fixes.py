"""Host functions that check files with ruff, and apply its fixes."""

from collections.abc import Callable, Sequence
from typing import Any

from remora.code.edit.edits import Edit, apply_edits, overlap
from remora.code.edit.text_lines import Text, decode, lines_of
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, own_lines
from remora.code.syntax.source import parse_error
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.tools.host.ruff.finding import Finding, edits_of, new_findings
from remora.tools.tree import ToolTree

_SOURCES = (".py", ".pyi")
_FindingKey = tuple[str, int, int | None]
_FixEdits = tuple[Finding, tuple[Edit, ...]]
_Skipped = list[tuple[Finding, str]]


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


def apply_ruff_fixes(
    place: ToolTree,
    path: str,
    findings: list[list[Any]],
    unsafe: bool = False,
    node: str | None = None,
) -> dict[str, Any]:
    """Apply the fixes of several findings at once.

    Each finding is `[code, line, column or null]`. A fix is skipped if it overlaps an earlier fix,
    or if the file would no longer parse. If `node` (a qualname) is given, a fix is also skipped if
    it would add a finding that cannot be removed by a safe fix on the node's lines. `skipped`
    contains the skipped findings as `[code, line, column, why]`. Raises HostError without writing
    anything if a finding does not exist or has no fix, or only an unsafe one, and `unsafe` is not
    set.
    """
    if not path.endswith(_SOURCES):
        raise HostError(f"{path}: fixes apply to Python files only")
    text = decode(path, place.read(path))
    present = place.ruff.check_file(path)
    lines = lines_of(text.body)
    wanted: list[_FixEdits] = []
    for spot in findings:
        finding = _find_finding(present, path, _finding_key(spot))
        wanted.append((finding, edits_of(text.body, _allowed_fix(finding, unsafe=unsafe), lines)))
    taken, skipped = _compatible(text, wanted)
    if node is not None and taken:

        def harm(content: bytes) -> str:
            return _lasting_new_finding(place, path, node, present, content)

        taken, harmful = _without_harm(text, taken, harm)
        skipped += harmful
    if taken:
        place.write(path, _with_fixes(text, taken))
    rows = [[f["code"], f["line"], f["column"], why] for f, why in skipped]
    return {"applied": len(taken), "skipped": rows}


def apply_fixes_together(text: Text, findings: Sequence[Finding], *, unsafe: bool) -> bytes:
    """Return the text with as many of the findings' fixes as can be applied together.

    Unsafe fixes are applied only if `unsafe` is True.
    """
    allowed = ("safe", "unsafe") if unsafe else ("safe",)
    lines = lines_of(text.body)
    wanted = [
        (finding, edits_of(text.body, fix, lines))
        for finding in findings
        if (fix := finding["fix"]) is not None and fix["applicability"] in allowed
    ]
    return _with_fixes(text, _compatible(text, wanted)[0])


def _compatible(text: Text, wanted: Sequence[_FixEdits]) -> tuple[list[_FixEdits], _Skipped]:
    """Return the fixes that can be applied together, and the others with the reasons.

    Two fixes that do not overlap may make the file invalid, for example if each of them removes one
    of the last two statements of a block.
    """
    apart: list[_FixEdits] = []
    left: _Skipped = []
    for finding, edits in wanted:
        if any(overlap(edits, other) for _, other in apart):
            left.append((finding, "overlaps another fix"))
        else:
            apart.append((finding, edits))
    if parse_error(text.bytes()):
        return apart, left
    taken, broken = _without_harm(
        text, apart, lambda content: "the file would not parse" if parse_error(content) else ""
    )
    return taken, [*left, *broken]


def _without_harm(
    text: Text, wanted: Sequence[_FixEdits], harm: Callable[[bytes], str]
) -> tuple[list[_FixEdits], _Skipped]:
    """Return the fixes without those that do harm together with earlier ones, and these."""
    taken, left = list(wanted), _Skipped()
    if harm(_with_fixes(text, taken)):
        taken = []
        for each in wanted:
            why = harm(_with_fixes(text, [*taken, each]))
            if why:
                left.append((each[0], why))
            else:
                taken.append(each)
    return taken, left


def _with_fixes(text: Text, wanted: Sequence[_FixEdits]) -> bytes:
    edits = [edit for _, edits in wanted for edit in edits]
    return text._replace(body=apply_edits(text.body, edits)).bytes()


def _finding_key(given: list[Any]) -> _FindingKey:
    code, line, column = (*given, None, None, None)[:3]
    shaped = isinstance(code, str) and isinstance(line, int) and isinstance(column, int | None)
    if not shaped or not 1 < len(given) <= len(_FindingKey.__args__):  # type: ignore[attr-defined]
        raise HostError(f"{given!r} is not a finding; expected [code, line, column or null]")
    return code, line, column


def _find_finding(findings: list[Finding], path: str, spot: _FindingKey) -> Finding:
    code, line, column = spot
    here = [finding for finding in findings if finding["line"] == line]
    for finding in here:
        if finding["code"] == code and column in (None, finding["column"]):
            return finding
    present_codes = ", ".join(
        f"{finding['code']} in column {finding['column']}" for finding in here
    )
    where = f"{path}:{line}" if column is None else f"{path}:{line}:{column}"
    raise HostError(f"{where}: no finding {code}; findings on this line: {present_codes or 'none'}")


def _allowed_fix(finding: Finding, *, unsafe: bool) -> dict[str, Any]:
    fix: dict[str, Any] | None = finding["fix"]
    name = f"{finding['path']}:{finding['line']}: {finding['code']}"
    if fix is None:
        raise HostError(f"{name} has no fix")
    if fix["applicability"] != "safe" and not (unsafe and fix["applicability"] == "unsafe"):
        raise HostError(f"{name} has a fix that is {fix['applicability']}, not safe")
    return fix


def _lasting_new_finding(
    place: ToolTree, path: str, node: str, before: list[Finding], content: bytes
) -> str:
    """Describe a finding that `content` would add and that a later safe fix would not remove.

    Only safe fixes on the node's lines are considered. For example, unsorted imports can be fixed
    later, but an unused import on the lines of another node cannot.
    """
    extra = new_findings(before, place.ruff.check_text(path, content))
    if not extra:
        return ""
    module = parse_module(path, content)
    if not isinstance(module, Module):
        return module.detail
    key = node_key(escape_path(path), node)
    own = own_lines(module, key) if find_node(module, key) is not None else frozenset()
    for finding in extra:
        fix = finding["fix"]
        if fix is None or fix["applicability"] != "safe" or not _fix_within(fix, own):
            return f"it would add {finding['code']} in line {finding['line']}"
    return ""


def _fix_within(fix: dict[str, Any], own: frozenset[int]) -> bool:
    """Return True if a fix changes only the given lines."""
    return all(_edit_within(edit, own) for edit in fix["edits"])


def _edit_within(edit: dict[str, Any], own: frozenset[int]) -> bool:
    first, last = edit["line"], edit["end_line"]
    if edit["end_column"] == 1 and last > first:
        last -= 1  # it ends before that line's first character
    elif edit["column"] == 1 and (first, 1) == (last, edit["end_column"]):
        return first in own or first - 1 in own  # whole lines inserted between two lines
    return all(line in own for line in range(first, last + 1))
