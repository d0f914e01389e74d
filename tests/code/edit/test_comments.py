"""Comments for tools, and comments for people that look similar."""

import pytest

from remora.code.edit.comments import is_for_tool

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
