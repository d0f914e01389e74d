"""Host functions that carry out ruff's fixes, one finding at a time or many that don't meet."""

from collections.abc import Sequence
from typing import Any

from remora.code.syntax.source import parse_error
from remora.errors import HostError
from remora.tools.host.ruff.new_findings import lasting_harm
from remora.tools.host.ruff.ruff_process import Finding, ruff_check
from remora.tools.host.ruff.text_edits import Edit, applied, edits_of, overlap
from remora.tools.host.text_lines import Text, decode, lines_of
from remora.tools.tree import Place

_SOURCES = (".py", ".pyi")
_Spot = tuple[str, int, int | None]


def apply_ruff_fix(  # noqa: PLR0913 - the names that scripts use
    place: Place,
    path: str,
    code: str,
    line: int,
    column: int | None = None,
    unsafe: bool = False,
    node: str | None = None,
) -> dict[str, Any]:
    """Carry out the fix of the one finding `code` at `line` (the first, without `column`).

    Raises HostError where there is no such finding, it has no fix, or the fix is unsafe and
    `unsafe` is not set; with `node` (a qualname) also where the fix would add a finding that no
    safe fix on the node's lines takes away. Nothing is written then. Says how many findings were
    `applied` (1), where, and the fix's message.
    """
    text = _source(place, path)
    present = ruff_check(place, [path], None, True)
    finding = _pick(present, path, (code, line, column))
    fix = _usable(finding, unsafe=unsafe)
    content = text._replace(body=applied(text.body, edits_of(text.body, fix))).bytes()
    harm = None if node is None else lasting_harm(place, path, node, present, content)
    if harm:
        raise HostError(f"{path}:{line}: the fix of {code} was not made: {harm}")
    place.write(path, content)
    return {"applied": 1, "line": line, "code": code, "message": fix["message"]}


def apply_safe_fixes(
    place: Place, path: str, findings: list[list[Any]], node: str | None = None
) -> dict[str, Any]:
    """Carry out the safe fixes of several findings, `[code, line, column or null]`, in one go.

    Those that meet an earlier one's edits, or after which the file would no longer parse, are
    left out and listed in `skipped` as `[code, line, column, why]`; with `node` (a qualname)
    also those that would add a finding that no safe fix on the node's lines takes away. Raises
    HostError for a finding that is not there or has no safe fix, and writes nothing then.
    """
    text = _source(place, path)
    present = ruff_check(place, [path], None, True)
    lines = lines_of(text.body)
    wanted: list[tuple[Finding, tuple[Edit, ...]]] = []
    for spot in findings:
        finding = _pick(present, path, _spot(spot))
        wanted.append((finding, edits_of(text.body, _usable(finding, unsafe=False), lines)))
    taken, skipped = _apart(wanted)
    body, taken, broken = _parsing(text, taken)
    if node is not None and taken:
        body, taken, harmful = _harmless(place, path, node, present, (text, taken))
        broken += harmful
    if body != text.body:
        place.write(path, text._replace(body=body).bytes())
    told = [_told(finding, why) for finding, why in [*skipped, *broken]]
    return {"applied": len(taken), "skipped": told}


_Wanted = tuple[Finding, tuple[Edit, ...]]
_Left = list[tuple[Finding, str]]


def _apart(wanted: Sequence[_Wanted]) -> tuple[list[_Wanted], _Left]:
    """Those that meet no earlier one, and the rest."""
    taken: list[_Wanted] = []
    left: _Left = []
    for finding, edits in wanted:
        if any(overlap(edits, other) for _, other in taken):
            left.append((finding, "overlaps another fix"))
        else:
            taken.append((finding, edits))
    return taken, left


def _parsing(text: Text, wanted: list[_Wanted]) -> tuple[str, list[_Wanted], _Left]:
    """The text after as many of the fixes, in order, as leave it a program.

    Each fix alone does; two may not (each removes one of a block's last two statements).
    """
    together = _with(text, wanted)
    if parse_error(text.bytes()) or not parse_error(text._replace(body=together).bytes()):
        return together, wanted, []
    taken: list[_Wanted] = []
    left: _Left = []
    for each in wanted:
        if parse_error(text._replace(body=_with(text, [*taken, each])).bytes()):
            left.append((each[0], "the file would not parse"))
        else:
            taken.append(each)
    return _with(text, taken), taken, left


def _harmless(
    place: Place, path: str, node: str, present: list[Finding], wanted: tuple[Text, list[_Wanted]]
) -> tuple[str, list[_Wanted], _Left]:
    """The text after as many of the fixes, in order, as add no lasting finding."""
    text, all_of_them = wanted

    def harm(chosen: Sequence[_Wanted]) -> str | None:
        content = text._replace(body=_with(text, chosen)).bytes()
        return lasting_harm(place, path, node, present, content)

    if harm(all_of_them) is None:
        return _with(text, all_of_them), all_of_them, []
    taken: list[_Wanted] = []
    left: _Left = []
    for each in all_of_them:
        why = harm([*taken, each])
        if why is None:
            taken.append(each)
        else:
            left.append((each[0], why))
    return _with(text, taken), taken, left


def _with(text: Text, wanted: Sequence[_Wanted]) -> str:
    return applied(text.body, [edit for _, edits in wanted for edit in edits])


def _source(place: Place, path: str) -> Text:
    if not path.endswith(_SOURCES):
        raise HostError(f"{path}: fixes are made in Python files only")
    return decode(path, place.read(path))


def _spot(given: list[Any]) -> _Spot:
    code, line, column = (*given, None, None, None)[:3]
    shaped = isinstance(code, str) and isinstance(line, int) and isinstance(column, int | None)
    if not shaped or not 1 < len(given) <= len(_Spot.__args__):  # type: ignore[attr-defined]
        raise HostError(f"{given!r} is no finding; it is given as [code, line, column or null]")
    return code, line, column


def _pick(findings: list[Finding], path: str, spot: _Spot) -> Finding:
    code, line, column = spot
    here = [finding for finding in findings if finding["line"] == line]
    for finding in here:
        if finding["code"] == code and column in (None, finding["column"]):
            return finding
    standing = ", ".join(f"{finding['code']} in column {finding['column']}" for finding in here)
    where = f"{path}:{line}" if column is None else f"{path}:{line}:{column}"
    raise HostError(f"{where}: there is no finding {code}; there is {standing or 'none'}")


def _usable(finding: Finding, *, unsafe: bool) -> dict[str, Any]:
    fix: dict[str, Any] | None = finding["fix"]
    name = f"{finding['path']}:{finding['line']}: {finding['code']}"
    if fix is None:
        raise HostError(f"{name} has no fix")
    if fix["applicability"] != "safe" and not (unsafe and fix["applicability"] == "unsafe"):
        raise HostError(f"{name} has a fix that is {fix['applicability']}, not safe")
    return fix


def _told(finding: Finding, why: str) -> list[Any]:
    return [finding["code"], finding["line"], finding["column"], why]
