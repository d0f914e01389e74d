"""Source code of test functions for cases and properties."""

from collections.abc import Sequence

import msgspec

from remora.operations.test.cases.assertions import Style, case_statements, with_quotes
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.parametrize import Table, table_of
from remora.operations.test.cases.property_guesses import Property
from remora.operations.test.target_function import TargetFunction
from remora.operations.test.test_location import InsertLocation

_TYPES = {
    "st.integers": "int", "st.floats": "float", "st.text": "str", "st.binary": "bytes",
    "st.booleans": "bool",
}  # fmt: skip
_ENOUGH = 3
"""Minimum number of similar cases for a parametrized test in a project that has no such tests."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft of a test function. `body` is not indented.

    `parameters` is the source between the parentheses of the signature.
    """

    name: str
    body: list[str]
    decorators: list[str] = []
    parameters: str = ""


def case_drafts(
    subject: TargetFunction,
    cases: Sequence[Case],
    home: InsertLocation,
    width: int,
    *,
    tables: bool = True,
) -> list[Draft]:
    """Return one test with all cases, or a parametrized test and a test of the exceptions."""
    wanted = home.test_name
    indent = 8 if home.owner else 4
    style = Style(home.quote, width - indent, unittest=home.form == "unittest")
    if style.unittest:
        return [Draft(name=wanted, body=case_statements(cases, style))]
    values = [case for case in cases if not case.raises]
    raising = [case for case in cases if case.raises]
    few = 2 if home.table else _ENOUGH
    table = table_of(subject, values, home, width) if tables and len(values) >= few else None
    if table is None or len(table.rows) < few:
        return [Draft(name=wanted, body=case_statements(cases, style))] if cases else []
    found = [_tabular(table, wanted, home)]
    if raising:
        body = case_statements(raising, style)
        found.append(Draft(name=f"{wanted}_raises", body=body))
    return found


def _tabular(table: Table, name: str, home: InsertLocation) -> Draft:
    columns = [*table.columns, "expected"]
    if home.table == "text":
        heads = f"{home.quote}{', '.join(columns)}{home.quote}"
    else:
        heads = f"({', '.join(f'{home.quote}{each}{home.quote}' for each in columns)})"
    rows = [f"        {row}," for row in table.rows]
    decorator = ["@pytest.mark.parametrize(", f"    {heads},", "    [", *rows, "    ],", ")"]
    typed = [f"{each}: {kind}" for each, kind in zip(columns, table.types, strict=True)]
    return Draft(
        name=name,
        body=[table.claim],
        decorators=decorator,
        parameters=", ".join(typed if home.typed else columns),
    )


def property_draft(holds: Property, home: InsertLocation, width: int) -> Draft | None:
    """Return a property test, or None if a line would be too long or a required type is unknown."""
    words = [f"{name}={text}" for name, text in holds.given.items()]
    words = [with_quotes(word, home.quote) for word in words]
    decorators = ["@settings(derandomize=True, deadline=None)", *_wrapped("@given", words, width)]
    types = [_type_of(text) for text in holds.given.values()]
    if home.typed and None in types:
        return None
    names = [f"{n}: {t}" if home.typed else n for n, t in zip(holds.given, types, strict=True)]
    lines = [*decorators, *(f"    assert {claim}" for claim in holds.claims)]
    if any(len(line) > width for line in lines):
        return None
    return Draft(
        name=f"{home.test_name}_{holds.ending}",
        body=[f"assert {claim}" for claim in holds.claims],
        decorators=decorators,
        parameters=", ".join(names),
    )


def property_source(holds: Property) -> tuple[str, str]:
    words = ", ".join(f"{name}={text}" for name, text in holds.given.items())
    head = ["@settings(derandomize=True, deadline=None)", f"@given({words})"]
    body = [f"    assert {claim}" for claim in holds.claims]
    return "test", "\n".join([*head, f"def test({', '.join(holds.given)}):", *body]) + "\n"


def _wrapped(call: str, words: Sequence[str], width: int) -> list[str]:
    line = f"{call}({', '.join(words)})"
    return [line] if len(line) <= width else [f"{call}(", *(f"    {word}," for word in words), ")"]


def _type_of(strategy: str) -> str | None:
    head, _, inner = strategy.partition("(")
    if head == "st.lists" and " | " not in strategy:
        of = _type_of(inner)
        return f"list[{of}]" if of else None
    return _TYPES.get(head) if " | " not in strategy else None
