"""Further cases in existing tests: rows of a table, or assertions after the others."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.operations.test.cases.assertions import expected_value, with_quotes
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.own_cases import OwnCase, arguments_of
from remora.operations.test.target_function import TargetFunction

_END_OF_LINE = re.compile(r"(,?)[ \t]*(?:#.*)?\n")
_TRUTHS = frozenset({"True", "False", "None"})


class FurtherCase(NamedTuple):
    """A case that repeats `like` with other arguments and another result, all as source code.

    `changed` maps parameters to their arguments. `expected` is empty if `like` compares nothing.
    """

    like: OwnCase
    changed: Mapping[str, str]
    expected: str


def further_case(case: Case, subject: TargetFunction, own: Sequence[OwnCase]) -> FurtherCase | None:
    """Return how an existing test says a case, or None if none of `own` has its form."""
    if case.claims or case.listed:
        return None
    given = arguments_of(case.call, subject)
    for like in own:
        changed = {
            name: text
            for name, text in given.items()
            if name in like.given and ast.unparse(like.given[name]) != text
        }
        if like.given.keys() == given.keys() and _can_repeat(like, changed, case):
            return FurtherCase(like, changed, expected_value(case.value) if case.value else "")
    return None


def _can_repeat(like: OwnCase, changed: Mapping[str, str], case: Case) -> bool:
    inside = {*ast.walk(like.code)}
    if any(like.given[name] not in inside for name in changed):
        return False
    if case.raises or like.expected is None:
        return like.outcome == (case.raises or case.value)
    is_truth = ast.unparse(like.expected) in _TRUTHS
    return is_truth == (case.value in _TRUTHS) and like.expected in inside


def with_further_cases(text: str, cases: Sequence[FurtherCase], source: ParsedText) -> str:
    """Return a test file with further cases. `source` is the parsed text, whose nodes they name."""
    by_place: dict[ast.expr | ast.stmt, list[str]] = {}
    for case in cases:
        by_place.setdefault(case.like.last, []).append(_repeated(source, case))
    return apply_edits(text, [_after(source, last, made) for last, made in by_place.items()])


def _repeated(source: ParsedText, case: FurtherCase) -> str:
    like = case.like
    start = source.start(like.code)
    text = source.text[start : source.end(like.code)]
    quote = '"' if '"' in text and "'" not in text else "'"
    replaced = {like.given[name]: value for name, value in case.changed.items()}
    if like.expected is not None:
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
    indent = " " * last.col_offset
    if isinstance(last, ast.stmt):
        end = source.text.find("\n", end)
        end = len(source.text) if end < 0 else end
        return Edit(end, end, "".join(f"\n{indent}{each}" for each in made))
    if source.text[source.start_of_line(last.lineno) : source.start(last)].strip():
        return Edit(end, end, "".join(f", {each}" for each in made))  # several rows on a line
    rest = _END_OF_LINE.match(source.text, end)
    if rest is None:
        return Edit(end, end, "".join(f",\n{indent}{each}" for each in made))
    lines = "".join(f"{indent}{each},\n" for each in made)
    if rest[1]:
        return Edit(rest.end(), rest.end(), lines)
    return Edit(end, rest.end(), f",{rest[0]}{lines[:-2]}\n")
