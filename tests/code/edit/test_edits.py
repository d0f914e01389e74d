"""Edits of a file's text: imports, comments, lines."""

import ast
from functools import partial

import pytest

from remora.code.edit.comments import is_for_tool
from remora.code.edit.edits import Edit, apply_edits, overlapping
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.edit.text_lines import split_lines
from tests.counted_steps import steps_of

PYTEST = Imported("pytest", "", "pytest")
GIVEN = Imported("hypothesis", "given", "given")


def with_imports(text: str, *needed: Imported, width: int = 88) -> str:
    style = ImportStyle(width, frozenset({"pkg"}))
    return apply_edits(text, import_edits(ParsedText(text), needed, style))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from pkg.mod import (a, g)", "from pkg.mod import (a, f, g)"),
        (
            "from pkg.mod import (\n    a,\n    g,\n)",
            "from pkg.mod import (\n    a,\n    f,\n    g,\n)",
        ),
        ("from pkg.mod import g, \\\n    a", "from pkg.mod import g, \\\n    a, f"),
        ("from pkg.mod import g, a", "from pkg.mod import g, a, f"),
        ("import os\nfrom pkg import mod", "import os\nfrom pkg import mod\nfrom pkg.mod import f"),
    ],
)
def test_a_name_joins_the_import_of_its_module(old: str, new: str) -> None:
    rest = "\n\n\ndef test_g(): ...\n"
    assert with_imports(old + rest, Imported("pkg.mod", "f", "f")) == new + rest


@pytest.mark.parametrize(
    ("old", "needed", "new"),
    [
        ("", [PYTEST], "import pytest\n"),
        ("# Licence\n", [PYTEST], "# Licence\n\nimport pytest\n"),
        ("x = 1\n", [PYTEST], "import pytest\n\n\nx = 1\n"),
        (
            '"""Doc."""\n',
            [Imported("pkg", "f", "f"), PYTEST],
            '"""Doc."""\n\nimport pytest\n\nfrom pkg import f\n',
        ),
        ("import os\n\nimport pkg\n", [PYTEST], "import os\n\nimport pytest\n\nimport pkg\n"),
        (
            "from pkg import f\n",
            [PYTEST, GIVEN],
            "import pytest\nfrom hypothesis import given\n\nfrom pkg import f\n",
        ),
        (
            "import pytest\n\nimport pkg\n",
            [GIVEN, Imported("os", "", "os")],
            "import os\n\nimport pytest\nfrom hypothesis import given\n\nimport pkg\n",
        ),
        (
            "import pytest\nimport pkg as p\n",
            [Imported("pkg.a", "b", "c")],
            "import pytest\nimport pkg as p\nfrom pkg.a import b as c\n",
        ),
    ],
)
def test_a_new_line_is_in_the_block_of_its_group(
    old: str, needed: list[Imported], new: str
) -> None:
    assert with_imports(old, *needed) == new


def test_a_line_that_is_too_long_is_wrapped() -> None:
    names = [Imported("pkg", name, name) for name in ("first", "second")]
    wrapped = "from pkg import (\n    f,\n    first,\n    second,\n)\n"
    assert with_imports("from pkg import f\n", *names, width=30) == wrapped
    assert with_imports("import os\n", *names[:1], width=20) == (
        "import os\n\nfrom pkg import (\n    first,\n)\n"
    )


FOR_TOOLS = """
#!/usr/bin/env python; # -*- coding: utf-8 -*-; # coding=latin-1; # fileencoding: utf-8; \
# vim: set ts=4:; # noqa; #NOQA:F401; # noqa: F401 used by a plug-in; # type: ignore; \
# type: ignore[arg-type]; # type: (int) -> str; # pylint: disable=unused-import; \
# pragma: no cover; # pragma no cover; # mypy: ignore-errors; # ruff: noqa: E501; \
# isort: skip_file; # flake8: noqa; # fmt: off; # pyright: basic; # pyre-strict; # nosec B602; \
# nosemgrep; # NOSONAR; # noinspection PyUnresolvedReferences; # yapf: disable; \
# cSpell:ignore foo bar; # spell-checker: disable-line; # codespell:ignore; # doctest: +SKIP; \
# cython: boundscheck=False; # language=SQL; #region Imports; # endregion; # rope: ignore; \
# remora: skip
"""
FOR_PEOPLE = """
# Types are ignored here.; # Note: on Windows, this fails.; \
# Warning: skip the first line of the file.; # typed by hand; # pragmatic, and short; \
# regional settings; # https://example.org; # TODO: remove; #: An attribute.; #
"""


@pytest.mark.parametrize("comment", FOR_TOOLS.strip().split("; "))
def test_comments_for_tools(comment: str) -> None:
    assert is_for_tool(comment)
    assert is_for_tool(f"    {comment}")


@pytest.mark.parametrize("comment", FOR_PEOPLE.strip().split("; "))
def test_comments_for_people(comment: str) -> None:
    assert not is_for_tool(comment)


def test_line_numbers_are_those_of_the_syntax_tree() -> None:
    body = "a = 1\n\x0c\nb = '\u2028\x85\x1c'\r\nc = 3"
    lines = split_lines(body)
    found = [lines[statement.lineno - 1] for statement in ast.parse(body).body]
    assert found == ["a = 1", "b = '\u2028\x85\x1c'", "c = 3"]
    assert "".join(split_lines(body, keepends=True)) == body


IMPORT = Edit(0, 0, "import a\n")


@pytest.mark.parametrize(
    ("fixes", "expected"),
    [
        ([(Edit(0, 5, ""),)] * 3, {}),
        ([(Edit(0, 5, ""),), (Edit(0, 5, ""),), (Edit(4, 6, ""),)], {0: {2}, 1: {2}, 2: {0, 1}}),
        ([(IMPORT, Edit(n, n + 1, "")) for n in (10, 20)], {}),
        ([(IMPORT, Edit(10, 11, "")), (Edit(0, 0, "import b\n"),)], {0: {1}, 1: {0}}),
        ([(Edit(0, 2, ""), Edit(30, 31, "")), (Edit(10, 12, ""),)], {}),
    ],
)
def test_fixes_overlap_if_their_edits_do(
    fixes: list[tuple[Edit, ...]], expected: dict[int, set[int]]
) -> None:
    numbers = {frozenset(fix): [n for n, same in enumerate(fixes) if same == fix] for fix in fixes}
    found = {
        number: {other for second in seconds for other in numbers[second]}
        for first, seconds in overlapping(fixes).items()
        for number in numbers[first]
    }
    assert found == expected
    many = {number: (IMPORT, Edit(9 * number, 9 * number + 1, "")) for number in range(300)}
    for cases in (many, dict.fromkeys(many, fixes[0])):  # not each with each
        assert steps_of(partial(overlapping, cases.values())) < 30 * len(many)
