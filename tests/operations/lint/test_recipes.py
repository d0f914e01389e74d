"""Recipes, each on a real file with real ruff: what they change, and what they leave alone."""

from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest

from remora.operations.lint.host_fix import fix_findings
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.tree import ToolTree


def fixed(
    folder: Path, source: str, *rules: str, nodes: tuple[str, ...] = (), unsafe: bool = False
) -> str:
    """Fix the findings of some rules in a file, and return its new text."""
    chosen = ", ".join(f'"{rule}"' for rule in rules)
    (folder / "ruff.toml").write_text(f"line-length = 60\nlint.select = [{chosen}]\n")
    (folder / "a.py").write_text(dedent(source).lstrip("\n"))
    fix_findings(ToolTree(folder), "a.py", list(nodes), unsafe)
    return (folder / "a.py").read_text()


def lines(text: str) -> str:
    return dedent(text).lstrip("\n")


UNCHANGED = ""
E501 = {
    "a comment is wrapped": (
        """
        # The first version of this function returned None here.
        # A short comment.
        x = 1  # short


        def f():
            # Values that are too large for the buffer are written directly.
            return 1
        """,
        """
        # The first version of this function returned None here.
        # A short comment.
        x = 1  # short


        def f():
            # Values that are too large for the buffer are written
            # directly.
            return 1
        """,
    ),
    "the rest goes in front of the line that continues the sentence": (
        """
        # Values that are too large for the buffer are written directly to
        # the file, without a copy.
        x = 1
        """,
        """
        # Values that are too large for the buffer are written
        # directly to the file, without a copy.
        x = 1
        """,
    ),
    "a comment after code moves above it": (
        """
        value = compute(1)  # values that are too large are not written
        """,
        """
        # values that are too large are not written
        value = compute(1)
        """,
    ),
    "prose in a docstring is wrapped": (
        '''
        def f():
            """Return one.

            Values that are too large for the buffer are written directly to
            the file.
            """
        ''',
        '''
        def f():
            """Return one.

            Values that are too large for the buffer are written
            directly to the file.
            """
        ''',
    ),
    "a note is not a list item": (
        '''
        def f(size):
            """Return one.

            Note: the size may be exceeded, so the actual total size will
            be greater than the size by some of the last bytes.
            """
        ''',
        '''
        def f(size):
            """Return one.

            Note: the size may be exceeded, so the actual total size
            will be greater than the size by some of the last bytes.
            """
        ''',
    ),
    "a parameter keeps its hanging indent": (
        '''
        def f(size):
            """Return one.

            :param size: the size of the buffer, in bytes, or None for all
                of it.
            :param other: unused.
            """
        ''',
        '''
        def f(size):
            """Return one.

            :param size: the size of the buffer, in bytes, or None
                for all of it.
            :param other: unused.
            """
        ''',
    ),
    "a text that is a value stays": (
        """
        raise ValueError(
            f"the value {value} is too large for the buffer of {size} bytes"
        )
        """,
        UNCHANGED,
    ),
    "a long address cannot be wrapped": (
        """
        # https://example.org/a/very/long/address/that/nobody/can/read.html
        x = 1
        """,
        UNCHANGED,
    ),
    "a statement stays": (
        """
        value = compute(first_argument, 'the second argument', third=3)
        """,
        UNCHANGED,
    ),
    "a statement with a directive stays": (
        """
        value = compute(first_argument, 'second', third=3)  # type: ignore[misc]
        """,
        UNCHANGED,
    ),
    "code in a comment stays": (
        """
        # result = compute(first_argument, second_argument, third=True)
        x = 1
        """,
        UNCHANGED,
    ),
    "a directive stays": (
        """
        import os  # type: ignore[import-untyped, no-any-unimported, attr-defined]
        """,
        UNCHANGED,
    ),
    "doctests, tables and literal blocks stay": (
        '''
        def f():
            """Return one.

            >>> f(1111111111, 2222222222, 3333333333, 44444444444444)
            1

            ==========  ==============================================
            first       the first of the many values that are returned
            ==========  ==============================================

            Example::

                compute(first_argument, second_argument, third_argument)
            """
        ''',
        UNCHANGED,
    ),
}


@pytest.mark.parametrize(("source", "expected"), E501.values(), ids=E501)
def test_long_lines(tmp_path: Path, source: str, expected: str) -> None:
    assert fixed(tmp_path, source, "E501") == lines(expected or source)


WRAPS = {
    "ruff": ("ruff.toml", "line-length = 60\nlint.select = ['E501']\n", True),
    "ruff's table": ("pyproject.toml", "[tool.ruff]\nline-length = 60\n", True),
    "black": ("pyproject.toml", "[tool.black]\nline-length = 60\n", True),
    "flake8": ("setup.cfg", "[flake8]\nmax-line-length = 60\n", True),
    "pycodestyle": ("tox.ini", "[pycodestyle]\nmax-line-length = 60\n", True),
    "a command": ("Makefile", "lint:\n\tflake8 --max-line-length 60 src\n", True),
    "rules alone": ("ruff.toml", "lint.select = ['E501']\n", False),
    "black alone": ("pyproject.toml", "[tool.black]\ntarget-version = ['py311']\n", False),
    "nothing": ("README", "", False),
}


@pytest.mark.parametrize(("name", "text", "wraps"), WRAPS.values(), ids=WRAPS)
def test_comments_are_wrapped_only_if_the_project_sets_a_line_length(
    tmp_path: Path, name: str, text: str, wraps: bool
) -> None:
    source = f"# {'word ' * 20}of a comment that is longer than any limit\nx = 1\n"
    (tmp_path / "a.py").write_text(source)
    (tmp_path / name).write_text(text)
    place = ToolTree(tmp_path, ruff=partial(Ruff, selected=["E501"]))
    fix_findings(place, "a.py", [])
    assert ((tmp_path / "a.py").read_text() != source) is wraps


D205 = {
    "a sentence that ends with the line": (
        '''
        def f():
            """Return one.
            The value never changes.
            """
        ''',
        '''
        def f():
            """Return one.

            The value never changes.
            """
        ''',
    ),
    "a sentence that ends on the next line and fits": (
        '''
        def f():
            """Return the first of the
            values. It never changes.
            """
        ''',
        '''
        def f():
            """Return the first of the values.

            It never changes.
            """
        ''',
    ),
    "parameters follow": (
        '''
        def f(size):
            """Return one.
            :param size: unused
            """
        ''',
        '''
        def f(size):
            """Return one.

            :param size: unused
            """
        ''',
    ),
    "a heading keeps its line": (
        '''
        """
        Return one.
        ~~~~~~~~~~~
        """
        ''',
        UNCHANGED,
    ),
    "an abbreviation ends no sentence": (
        '''
        def f():
            """Return a value, e.g. One of the many values of the file
            that it reads.
            """
        ''',
        UNCHANGED,
    ),
    "a list is no sentence": (
        '''
        def f():
            """Return one.
                first: the first
                second: the second
            """
        ''',
        UNCHANGED,
    ),
}


@pytest.mark.parametrize(("source", "expected"), D205.values(), ids=D205)
def test_the_summary_has_a_line_of_its_own(tmp_path: Path, source: str, expected: str) -> None:
    assert fixed(tmp_path, source, "D205") == lines(expected or source)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Returns the value.", "Return the value."),
        ("Tries again.", "Try again."),
        ("Matches the name.", "Match the name."),
        ("Passes the value on.", "Pass the value on."),
        ("Caches the value.", "Cache the value."),
        ("Returns the value of the process.", "Return the value of the process."),
        ("Reads the lines and columns of a file.", ""),  # two verbs
        ("This returns the value.", ""),
        ("Process of the file.", ""),
    ],
)
def test_the_first_verb_is_an_imperative(tmp_path: Path, before: str, after: str) -> None:
    source = f'def f():\n    """{before}"""\n'
    assert fixed(tmp_path, source, "D401") == source.replace(before, after or before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""Return the value"""', '"""Return the value."""'),
        ('"""Return the value\n\n    More.\n    """', '"""Return the value.\n\n    More.\n    """'),
        ('"""Return the value of\n    the file\n    """', ""),
        ('"""Return the value:\n\n    - one\n    """', ""),
        ('"""Value"""', ""),
    ],
)
def test_a_summary_ends_with_a_period(tmp_path: Path, before: str, after: str) -> None:
    source = f"def f():\n    {before}\n"
    assert fixed(tmp_path, source, "D415") == source.replace(before, after or before)


RUF012 = {
    "aligned lines stay aligned": (
        """
        class A:
            size: int
            sizes = [compute(1),
                     compute(2)]
        """,
        """
        from typing import ClassVar


        class A:
            size: int
            sizes: ClassVar = [compute(1),
                               compute(2)]
        """,
    ),
    "instances that set any attribute": (
        """
        class A:
            names = ["a"]

            def __init__(self, **values):
                for name, value in values.items():
                    setattr(self, name, value)
        """,
        "",
    ),
    "a list of strings": (
        """
        class A:
            names = ["a", "b"]
        """,
        """
        from typing import ClassVar


        class A:
            names: ClassVar[list[str]] = ["a", "b"]
        """,
    ),
    "values of several types, beside an import": (
        '''
        """Doc."""

        from typing import Any


        class A:
            names = ["a", 1]
            other: dict[str, Any] = {}
        ''',
        '''
        """Doc."""

        from typing import Any, ClassVar


        class A:
            names: ClassVar = ["a", 1]
            other: ClassVar[dict[str, Any]] = {}
        ''',
    ),
    "an attribute that instances assign": (
        """
        class A:
            names = []

            def __init__(self):
                self.names = ["a"]
        """,
        UNCHANGED,
    ),
    "a name that is taken": (
        """
        ClassVar = 1


        class A:
            names = []
        """,
        UNCHANGED,
    ),
}


@pytest.mark.parametrize(("source", "expected"), RUF012.values(), ids=RUF012)
def test_mutable_class_attributes(tmp_path: Path, source: str, expected: str) -> None:
    assert fixed(tmp_path, source, "RUF012") == lines(expected or source)


FIELDS = {
    "of an unknown base": ("from pkg import Base", "class A(Base):\n    tags: list[str] = []"),
    "of a named tuple": (
        "from typing import NamedTuple",
        "class A(NamedTuple):\n    tags: list[str] = []",
    ),
    "of an enumeration": ("from enum import Enum", "class A(Enum):\n    TAGS = [1]"),
    "of a decorated class": (
        "from pkg import model",
        "@model\nclass A:\n    tags: list[str] = []",
    ),
    "assigned with others": (
        "",
        "class A:\n    tags = []\n\n\ndef f(x):\n    x.tags, y = [], 1\n    return y",
    ),
}


@pytest.mark.parametrize(("imports", "code"), FIELDS.values(), ids=FIELDS)
def test_fields_of_instances_are_not_class_variables(
    tmp_path: Path, imports: str, code: str
) -> None:
    source = f"{imports}\n\n\n{code}\n".lstrip("\n")
    assert fixed(tmp_path, source, "RUF012") == source


def test_without_subscripts_in_old_versions_of_python(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.8"\n')
    source = 'size: int = 1\n\n\nclass A:\n    names = ["a"]\n'
    found = fixed(tmp_path, source, "RUF012")
    assert 'names: ClassVar = ["a"]' in found


B904 = {
    "the handler names the exception": (
        """
        try:
            f()
        except KeyError as error:
            raise ValueError("no key")
        """,
        """
        try:
            f()
        except KeyError as error:
            raise ValueError("no key") from error
        """,
    ),
    "the handler gets the name that the file uses": (
        """
        try:
            f()
        except KeyError as exc:
            print(exc)
        try:
            f()
        except (KeyError, ValueError):
            raise ValueError(
                "no key"
            )
        """,
        """
        try:
            f()
        except KeyError as exc:
            print(exc)
        try:
            f()
        except (KeyError, ValueError) as exc:
            raise ValueError(
                "no key"
            ) from exc
        """,
    ),
    "a name that is used in the function is not taken": (
        """
        def f(err):
            try:
                g()
            except KeyError:
                raise ValueError(err)
        """,
        """
        def f(err):
            try:
                g()
            except KeyError as error:
                raise ValueError(err) from error
        """,
    ),
    "the file hides causes": (
        """
        try:
            f()
        except KeyError:
            raise ValueError("no key") from None
        try:
            f()
        except TypeError as error:
            raise ValueError("no text")
        """,
        """
        try:
            f()
        except KeyError:
            raise ValueError("no key") from None
        try:
            f()
        except TypeError:
            raise ValueError("no text") from None
        """,
    ),
    "everything is caught": (
        """
        try:
            f()
        except:
            raise ValueError("no key")
        """,
        UNCHANGED,
    ),
}


@pytest.mark.parametrize(("source", "expected"), B904.values(), ids=B904)
def test_the_cause_of_an_exception(tmp_path: Path, source: str, expected: str) -> None:
    assert fixed(tmp_path, source, "B904") == lines(expected or source)


RAISED_AGAIN = """
def f(first):
    try:
        g()
    except KeyError:
        raise first
"""


def test_the_name_of_an_exception_does_not_hide_an_export(tmp_path: Path) -> None:
    source = """
    from pkg import err, error, exc

    try:
        import fast
    except ImportError:
        raise RuntimeError("no fast")
    """
    new = fixed(tmp_path, source, "B904")
    assert 'except ImportError as e:\n    raise RuntimeError("no fast") from e' in new


def test_an_exception_that_is_raised_again_keeps_its_cause(tmp_path: Path) -> None:
    assert fixed(tmp_path, RAISED_AGAIN, "B904") == lines(RAISED_AGAIN)


def test_plain_characters_except_in_doctests(tmp_path: Path) -> None:
    source = (
        "# It\N{RIGHT SINGLE QUOTATION MARK}s 1\N{EN DASH}2.\n"
        'def f():\n    """>>> f()\n    \'\N{EN DASH}\'\n    """\n'
    )
    expected = source.replace("\N{RIGHT SINGLE QUOTATION MARK}s 1\N{EN DASH}", "'s 1-", 1)
    assert fixed(tmp_path, source, "RUF002", "RUF003") == expected


def test_an_added_import_has_the_line_endings_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text('lint.select = ["RUF012"]\n')
    source = b'"""Doc."""\r\n\r\n\r\nclass A:\r\n    names = ["a"]\r\n'
    (tmp_path / "a.py").write_bytes(source)
    fix_findings(ToolTree(tmp_path), "a.py", [])
    new = (tmp_path / "a.py").read_bytes()
    assert b"from typing import ClassVar\r\n" in new
    assert new.count(b"\n") == new.count(b"\r\n")
