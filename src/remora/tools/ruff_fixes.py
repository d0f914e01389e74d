"""Host functions that apply one or more ruff fixes."""

from collections.abc import Sequence
from typing import Any

from remora.code.edit.edits import Edit, apply_edits, overlap
from remora.code.edit.text_lines import Text, decode, lines_of
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, own_lines
from remora.code.syntax.source import parse_error
from remora.errors import HostError
from remora.ids import escape_path, node_key
from remora.tools.host.ruff.finding import Finding, edits_of
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.node_findings import fix_within
from remora.tools.tree import ToolTree

_SOURCES = (".py", ".pyi")
_FindingKey = tuple[str, int, int | None]


def apply_ruff_fix(  # noqa: PLR0913 - the names that scripts use
    place: ToolTree,
    path: str,
    code: str,
    line: int,
    column: int | None = None,
    unsafe: bool = False,
    node: str | None = None,
) -> dict[str, Any]:
    """Apply the fix of the finding `code` at `line`.

    Without `column`, the first such finding on the line is fixed. Returns the number of applied
    fixes (1), the line, the code and the message of the fix. Raises HostError without writing
    anything if there is no such finding, if it has no fix, or if the fix is unsafe and `unsafe` is
    not set. If `node` (a qualname) is given, also raises HostError if the fix would add a finding
    that cannot be removed by a safe fix on the node's lines.
    """
    text = _source(place, path)
    present = place.ruff.check_file(path)
    finding = _find_finding(present, path, (code, line, column))
    fix = _allowed_fix(finding, unsafe=unsafe)
    content = text._replace(body=apply_edits(text.body, edits_of(text.body, fix))).bytes()
    harm = None if node is None else _lasting_new_finding(place, path, node, present, content)
    if harm:
        raise HostError(f"{path}:{line}: the fix of {code} was not applied: {harm}")
    place.write(path, content)
    return {"applied": 1, "line": line, "code": code, "message": fix["message"]}


def apply_safe_fixes(
    place: ToolTree, path: str, findings: list[list[Any]], node: str | None = None
) -> dict[str, Any]:
    """Apply the safe fixes of several findings at once.

    Each finding is `[code, line, column or null]`. A fix is skipped if it overlaps an earlier fix,
    or if the file would no longer parse. If `node` (a qualname) is given, a fix is also skipped if
    it would add a finding that cannot be removed by a safe fix on the node's lines. `skipped`
    contains the skipped findings as `[code, line, column, why]`. Raises HostError without writing
    anything if a finding does not exist or has no safe fix.
    """
    text = _source(place, path)
    present = place.ruff.check_file(path)
    lines = lines_of(text.body)
    wanted: list[tuple[Finding, tuple[Edit, ...]]] = []
    for spot in findings:
        finding = _find_finding(present, path, _finding_key(spot))
        wanted.append((finding, edits_of(text.body, _allowed_fix(finding, unsafe=False), lines)))
    taken, skipped = _without_overlaps(wanted)
    body, taken, broken = _still_parsing(text, taken)
    if node is not None and taken:
        body, taken, harmful = _without_lasting_findings(place, path, node, present, (text, taken))
        broken += harmful
    if body != text.body:
        place.write(path, text._replace(body=body).bytes())
    rows = [[f["code"], f["line"], f["column"], why] for f, why in [*skipped, *broken]]
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
    taken, _ = _without_overlaps(wanted)
    body, _, _ = _still_parsing(text, taken)
    return text._replace(body=body).bytes()


_FixEdits = tuple[Finding, tuple[Edit, ...]]
_Skipped = list[tuple[Finding, str]]


def _without_overlaps(wanted: Sequence[_FixEdits]) -> tuple[list[_FixEdits], _Skipped]:
    """Return the fixes that do not overlap an earlier fix, and the fixes that do."""
    taken: list[_FixEdits] = []
    left: _Skipped = []
    for finding, edits in wanted:
        if any(overlap(edits, other) for _, other in taken):
            left.append((finding, "overlaps another fix"))
        else:
            taken.append((finding, edits))
    return taken, left


def _still_parsing(text: Text, wanted: list[_FixEdits]) -> tuple[str, list[_FixEdits], _Skipped]:
    """Apply the fixes in order, skipping each fix that would result in invalid Python.

    A single fix never makes the file invalid, but two fixes together may, for example if each of
    them removes one of the last two statements of a block.
    """
    together = _with_fixes(text, wanted)
    if not parse_error(text._replace(body=together).bytes()) or parse_error(text.bytes()):
        return together, wanted, []
    taken: list[_FixEdits] = []
    left: _Skipped = []
    for each in wanted:
        if parse_error(text._replace(body=_with_fixes(text, [*taken, each])).bytes()):
            left.append((each[0], "the file would not parse"))
        else:
            taken.append(each)
    return _with_fixes(text, taken), taken, left


def _without_lasting_findings(
    place: ToolTree,
    path: str,
    node: str,
    present: list[Finding],
    wanted: tuple[Text, list[_FixEdits]],
) -> tuple[str, list[_FixEdits], _Skipped]:
    """Apply the fixes in order, skipping each fix that would add a lasting finding."""
    text, all_of_them = wanted

    def harm(chosen: Sequence[_FixEdits]) -> str | None:
        content = text._replace(body=_with_fixes(text, chosen)).bytes()
        return _lasting_new_finding(place, path, node, present, content)

    if harm(all_of_them) is None:
        return _with_fixes(text, all_of_them), all_of_them, []
    taken: list[_FixEdits] = []
    left: _Skipped = []
    for each in all_of_them:
        why = harm([*taken, each])
        if why is None:
            taken.append(each)
        else:
            left.append((each[0], why))
    return _with_fixes(text, taken), taken, left


def _with_fixes(text: Text, wanted: Sequence[_FixEdits]) -> str:
    return apply_edits(text.body, [edit for _, edits in wanted for edit in edits])


def _source(place: ToolTree, path: str) -> Text:
    if not path.endswith(_SOURCES):
        raise HostError(f"{path}: fixes apply to Python files only")
    return decode(path, place.read(path))


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
) -> str | None:
    """Describe a finding that `content` would add and that a later safe fix would not remove.

    Only safe fixes on the node's lines are considered. For example, unsorted imports can be fixed
    later, but an unused import on the lines of another node cannot. Returns None if there is no
    such finding.
    """
    extra = new_findings(before, place.ruff.check_text(path, content))
    if not extra:
        return None
    module = parse_module(path, content)
    if not isinstance(module, Module):
        return module.detail
    key = node_key(escape_path(path), node)
    own = own_lines(module, key) if find_node(module, key) is not None else frozenset()
    for finding in extra:
        if not (_is_safe(finding["fix"]) and fix_within(finding["fix"], own)):
            return f"it would add {finding['code']} in line {finding['line']}"
    return None


def _is_safe(fix: dict[str, Any] | None) -> bool:
    return fix is not None and fix["applicability"] == "safe"
