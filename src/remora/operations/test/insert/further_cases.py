"""Further cases in existing tests: rows of a table, or assertions after the others."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.errors import HostError
from remora.judges.calls.case import Case, is_call_of
from remora.judges.calls.own_cases import OwnCase, arguments_of
from remora.judges.calls.target_function import TargetFunction
from remora.operations.test.assertions import TRUTHS, with_quotes
from remora.python_text import parse

_END_OF_LINE = re.compile(r"(,?)[ \t]*(?:#.*)?\n")


class FurtherCase(NamedTuple):
    """A case that repeats another one with other arguments and another result."""

    like: OwnCase
    """The case that is repeated."""
    changed: Mapping[str, str]
    """The other arguments as source code, by parameter."""
    expected: str
    """The other result as source code, which is empty if `like` compares nothing."""


def further_case(case: Case, subject: TargetFunction, own: Sequence[OwnCase]) -> FurtherCase | None:
    """Return how an existing test says a case, or None if none of `own` has its form."""
    if case.listed:
        return None
    given = arguments_of(case.call, subject)
    found = []
    for like in own:
        if like.given.keys() != given.keys() or not _is_alike(like, case, subject):
            continue
        changed = {
            name: text for name, text in given.items() if ast.unparse(like.given[name]) != text
        }
        if _can_repeat(like, changed, case):
            found.append(FurtherCase(like, changed, case.value))
    return min(found, key=lambda further: len(further.changed), default=None)


def _is_alike(like: OwnCase, case: Case, subject: TargetFunction) -> bool:
    """Return True if a case calls the same object, with no other preparation and no further import."""
    own, made = (parse(text, "eval").body for text in (like.call.call, case.call))
    assert isinstance(own, ast.Call)
    if not isinstance(made, ast.Call) or not is_call_of(subject.function.name, made):
        return False  # such as `f(1)(2)`
    is_same = ast.unparse(own.func) == ast.unparse(made.func)
    is_plain = "." not in subject.qualname and not case.setup
    return case.setup == like.call.setup and (is_same or is_plain)


def _can_repeat(like: OwnCase, changed: Mapping[str, str], case: Case) -> bool:
    inside = {*ast.walk(like.code)}
    if any(like.given[name] not in inside for name in changed):
        return False
    if case.raises or like.expected is None:
        return like.outcome == (case.raises or case.value)
    shown = ast.unparse(like.expected)
    if (shown in TRUTHS) != (case.value in TRUTHS):
        return False
    is_known = like.outcome == "==" or shown in TRUTHS
    return is_known and (like.expected in inside or shown == case.value)


def with_further_cases(cases: Sequence[FurtherCase], source: ParsedText, quote: str) -> str:
    """Return a test file with further cases. `source` is the parsed file, whose nodes they name.

    `quote` is the quote character of its tests. Raises HostError if a case cannot be repeated
    alone, because it has a comment or shares its line with another statement.
    """
    by_place: dict[ast.expr | ast.stmt, list[str]] = {}
    for case in cases:
        by_place.setdefault(case.like.last, []).append(_repeated(source, case, quote))
    edits = [_after(source, last, made) for last, made in by_place.items()]
    return apply_edits(source.text, edits)


def _repeated(source: ParsedText, case: FurtherCase, quote: str) -> str:
    like = case.like
    start = source.start(like.code)
    text = source.text[start : source.end(like.code)]
    if any("#" in line for line in text.split("\n")[:-1]):
        raise HostError("a comment is within the case that a further one would repeat")
    replaced = {like.given[name]: value for name, value in case.changed.items()}
    if like.expected is not None and like.expected in {*ast.walk(like.code)}:
        replaced[like.expected] = case.expected
    return apply_edits(
        text,
        [
            Edit(source.start(node) - start, source.end(node) - start, with_quotes(value, quote))
            for node, value in replaced.items()
        ],
    )


def _after(source: ParsedText, last: ast.expr | ast.stmt, made: Sequence[str]) -> Edit:
    """Return the insertion of statements or rows after the last one."""
    end = source.end(last)
    indent = source.text[source.start_of_line(last.lineno) : source.start(last)]
    if isinstance(last, ast.stmt):
        if indent.strip():
            raise HostError("several statements are on a line")
        end = source.text.find("\n", end)
        end = len(source.text) if end < 0 else end
        return Edit(end, end, "".join(f"\n{indent}{code}" for code in made))
    if indent.strip():
        return Edit(end, end, "".join(f", {code}" for code in made))  # several rows on a line
    rest = _END_OF_LINE.match(source.text, end)
    if rest is None:
        return Edit(end, end, "".join(f",\n{indent}{code}" for code in made))
    lines = "".join(f"{indent}{code},\n" for code in made)
    if rest[1]:
        return Edit(rest.end(), rest.end(), lines)
    return Edit(end, rest.end(), f",{rest[0]}{lines[:-2]}\n")
