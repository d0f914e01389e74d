"""Selection of the most informative calls, and generation of their assertions."""

import ast
import io
import math
import tokenize
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from remora.code.syntax.source import parse_text

MOST_CASES = 5
_LONGEST = 200
_ENVIRONMENT_ERRORS = frozenset(
    {"NotImplementedError", "RecursionError", "MemoryError", "OverflowError"}
)
_DIGITS = 6
_NONE: frozenset[int] = frozenset()
_EMPTY_VALUES = frozenset({"None", "''", "b''", "[]", "()", "{}", "set()"})


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A call and its result, which is a `value` as source code or the exception that it `raises`.

    `origin` is the module of the exception. If `listed` is true, the call returns an iterator, and
    `value` is the list of its items.
    """

    call: str
    value: str = ""
    raises: str = ""
    origin: str = ""
    listed: bool = False
    lines: tuple[int, ...] = ()


def case_of(
    call: str,
    seen: Sequence[Mapping[str, Any] | None],
    is_raised: Callable[[str, int], bool],
    private: str,
) -> Case | None:
    """Return the test case for a call, or None if its result is not stable or cannot be asserted.

    `seen` contains the results of repeated runs. `is_raised(path, line)` returns True if the
    project has a `raise` statement on that line. `private` is a local path that must not appear in
    the result.
    """
    first = seen[0]
    if first is None or any(_comparable(each) != _comparable(first) for each in seen):
        return None
    lines = tuple(number for number in first.get("lines", ()) if isinstance(number, int))
    if first.get("how") == "value":
        text = canonical_literal(str(first.get("text", "")))
        if text is None or len(text) > _LONGEST or private in text:
            return None
        return Case(call=call, value=text, listed=first.get("listed") is True, lines=lines)
    if first.get("how") == "raised" and is_raised(str(first.get("path")), _number(first)):
        name, origin = str(first.get("type")), str(first.get("module"))
        if name.isidentifier() and name not in _ENVIRONMENT_ERRORS:
            listed = first.get("listed") is True
            return Case(call=call, raises=name, origin=origin, listed=listed, lines=lines)
    return None


def _number(result: Mapping[str, Any]) -> int:
    line = result.get("line")
    return line if isinstance(line, int) else 0


def _comparable(result: Mapping[str, Any] | None) -> Any:
    """Return the part of a result that must be equal in repeated runs.

    The order of sets is ignored.
    """
    if result is None or result.get("how") not in ("value", "raised"):
        return object()
    if result["how"] == "value":
        return "value", canonical_literal(str(result.get("text"))) or object(), result.get("listed")
    return "raised", result.get("type"), result.get("module")


def canonical_literal(text: str) -> str | None:
    """Return a literal in canonical form.

    Return None if `text` is not a literal, or if its value, like NaN, is not equal to itself.
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    written = _literal_source(value)
    try:
        return written if ast.literal_eval(written) == value else None
    except (ValueError, SyntaxError):
        return None


def _literal_source(value: Any) -> str:
    if isinstance(value, set) and value:
        return "{" + ", ".join(sorted(map(_literal_source, value))) + "}"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_literal_source(k)}: {_literal_source(v)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal_source, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal_source, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def best_cases(
    cases: Sequence[Case],
    killed: Mapping[str, frozenset[int]],
    preferred: frozenset[str] = frozenset(),
) -> list[Case]:
    """Return cases that together kill the most mutants, then cases that execute further lines.

    `killed` maps each call to the mutants that it kills. Calls found in the project (`preferred`)
    take precedence, and calls with strings such as '.' are chosen last. Among otherwise equal
    cases, a case whose result differs from its input is preferred. If only one case is chosen, a
    case with a different result is added if there is one. Return an empty list if no mutant is
    killed or all results are trivial.
    """
    chosen: list[Case] = []
    covered: set[int] = set()
    run: set[int] = set()
    for _ in range(MOST_CASES):
        left = [case for case in cases if case not in chosen]
        useful = [case for case in left if killed.get(case.call, _NONE) - covered]
        ranked = [case for case in useful if case.call in preferred] or useful
        best = max(
            [case for case in ranked if not _has_symbol_text(case.call)] or ranked,
            key=lambda c: (len(killed.get(c.call, _NONE) - covered), _differs_from_input(c)),
            default=None,
        )
        if best is None:
            best = max(left, key=lambda case: len({*case.lines} - run), default=None)
            if best is None or not chosen or not {*best.lines} - run:
                break
        chosen.append(best)
        covered |= killed.get(best.call, _NONE)
        run |= {*best.lines}
    if not any(_is_informative(case) for case in chosen):
        return []
    if len(chosen) == 1:
        chosen += _contrasting_case(cases, chosen[0])
    return sorted(chosen, key=lambda case: (bool(case.raises), cases.index(case)))


def _contrasting_case(cases: Sequence[Case], one: Case) -> list[Case]:
    apart = (
        case for case in cases if _differs_from_input(case) and not _has_symbol_text(case.call)
    )
    return [c for c in apart if (c.value, c.raises) != (one.value, one.raises)][:1]


def _has_symbol_text(call: str) -> bool:
    """Return True if a string in the call contains neither letters nor digits."""
    tree = parse_text(call)
    return isinstance(tree, ast.Module) and any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and part.value != ""
        and not any(map(str.isalnum, part.value))
        for part in ast.walk(tree)
    )


def _differs_from_input(case: Case) -> bool:
    return _is_informative(case) and f"({case.value})" not in case.call


def _is_informative(case: Case) -> bool:
    """Return True if the result is not trivial.

    An empty result for an empty input proves nothing.
    """
    return bool(case.raises) or case.value not in _EMPTY_VALUES


def case_statements(cases: Sequence[Case], quote: str, width: int) -> list[str]:
    """Return the unindented body of a test.

    Cases that do not fit within the line width are omitted.
    """
    found: list[str] = []
    for case in cases:
        call = with_quotes(f"list({case.call})" if case.listed else case.call, quote)
        if case.raises:
            lines = [f"with pytest.raises({case.raises}):", f"    {call}"]
        else:
            lines = [f"assert {call} {_compared(with_quotes(case.value, quote))}"]
        if all(len(line) + 4 <= width for line in lines):
            found += lines
    return found


def is_valid_case(case: Case) -> bool:
    """Return True if the case is a single call with a literal result or an exception name."""
    tree = parse_text(case.call)
    body = tree.body if isinstance(tree, ast.Module) else []
    one = body[0] if len(body) == 1 else None
    if not isinstance(one, ast.Expr) or not isinstance(one.value, ast.Call):
        return False
    if case.raises:
        return case.raises.isidentifier() and not case.value
    return canonical_literal(case.value) == case.value


def _compared(value: str) -> str:
    return f"is {value}" if value in ("True", "False", "None") else f"== {expected_literal(value)}"


def expected_literal(value: str) -> str:
    """Return the expected value, or `pytest.approx(...)` for a float with many decimal places."""
    number = ast.literal_eval(value)
    if (
        isinstance(number, float)
        and math.isfinite(number)
        and len(value.partition(".")[2]) > _DIGITS
    ):
        return f"pytest.approx({value})"
    return value


def names_in(lines: Sequence[str]) -> set[str]:
    tree = parse_text("\n".join(lines))
    if not isinstance(tree, ast.Module):
        return set()
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}


def with_quotes(text: str, quote: str) -> str:
    """Return the expression with `quote` around its strings.

    Strings that would need escapes keep their quotes.
    """
    if quote == "'":
        return text
    pieces: list[str] = []
    at = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.start[0] == 1:
            pieces += [text[at : token.start[1]], _requoted(token.string, quote)]
            at = token.end[1]
    return "".join(pieces) + text[at:]


def _requoted(literal: str, quote: str) -> str:
    prefix, _, rest = literal.partition("'")
    body = rest[:-1]
    plain = literal.endswith("'") and prefix in ("", "b") and quote not in body and "'" not in body
    return f"{prefix}{quote}{body}{quote}" if plain else literal
