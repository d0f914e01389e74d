"""Recipes, each on a real file with real ruff: what they change, and what they leave alone."""

import atexit
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import pytest

from remora.operations.lint.host_fix import fix_findings
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree


@cache
def shared(settings: str) -> RuffBase:
    """Processes of ruff for all files that are alone in a folder with these settings."""
    folder = TemporaryDirectory()
    (Path(folder.name) / "ruff.toml").write_text(settings)
    base = RuffBase(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(base.close)
    return base


def fixed(folder: Path, source: str, *rules: str, unsafe: bool = False) -> str:
    """Fix the findings of some rules in a file, and return its new text."""
    chosen = ", ".join(f'"{rule}"' for rule in rules)
    settings = f"line-length = 60\nlint.select = [{chosen}]\n"
    ruff = Ruff if any(folder.iterdir()) else partial(Ruff, base=shared(settings))
    (folder / "ruff.toml").write_text(settings)
    (folder / "a.py").write_text(lines(source))
    fix_findings(ToolTree(folder, ruff=ruff), "a.py", [], unsafe)
    return (folder / "a.py").read_text()


def lines(text: str) -> str:
    return dedent(text).lstrip("\n")


def versions(diff: str) -> tuple[str, str]:
    """Return the texts before and after a change. Without `-` and `+`, nothing changes."""
    every = lines(diff).rstrip().split("\n")
    if not any(line[:1] in ("-", "+") for line in every):
        return lines(diff), lines(diff)
    before, after = ([line[2:] for line in every if line[:1] != mark] for mark in "+-")
    return "\n".join(before) + "\n", "\n".join(after) + "\n"


CHANGES = {
    "E501: a comment is wrapped": """
          # The first version of this function returned None here.
          x = 1  # short


          def f():
        -     # Values that are too large for the buffer are written directly.
        +     # Values that are too large for the buffer are written
        +     # directly.
              return 1
        """,
    "E501: the rest goes in front of the line that continues the sentence": """
        - # Values that are too large for the buffer are written directly to
        - # the file, without a copy.
        + # Values that are too large for the buffer are written
        + # directly to the file, without a copy.
          x = 1
        """,
    "E501: a comment after code moves above it": """
        - value = compute(1)  # values that are too large are not written
        + # values that are too large are not written
        + value = compute(1)
        """,
    "E501: prose in a docstring is wrapped": '''
          def f():
              """Return one.

        -     Values that are too large for the buffer are written directly to
        -     the file.
        +     Values that are too large for the buffer are written
        +     directly to the file.
              """
        ''',
    "E501: a note is not a list item": '''
          def f(size):
              """Return one.

        -     Note: the size may be exceeded, so the actual total size will
        -     be greater than the size by some of the last bytes.
        +     Note: the size may be exceeded, so the actual total size
        +     will be greater than the size by some of the last bytes.
              """
        ''',
    "E501: a parameter keeps its hanging indent": '''
          def f(size):
              """Return one.

        -     :param size: the size of the buffer, in bytes, or None for all
        -         of it.
        +     :param size: the size of the buffer, in bytes, or None
        +         for all of it.
              :param other: unused.
              """
        ''',
    "E501: a text that is a value stays": """
        raise ValueError(
            f"the value {value} is too large for the buffer of {size} bytes"
        )
        """,
    "E501: a long address cannot be wrapped": """
        # https://example.org/a/very/long/address/that/nobody/can/read.html
        x = 1
        """,
    "E501: a statement stays": """
        value = compute(first_argument, 'the second argument', third=3)
        """,
    "E501: a statement with a directive stays": """
        value = compute(first_argument, 'second', third=3)  # type: ignore[misc]
        """,
    "E501: code in a comment stays": """
        # result = compute(first_argument, second_argument, third=True)
        x = 1
        """,
    "E501: doctests, tables and literal blocks stay": '''
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
    "D205: a sentence that ends with the line": '''
          def f():
              """Return one.
        +
              The value never changes.
              """
        ''',
    "D205: a sentence that ends on the next line and fits": '''
          def f():
        -     """Return the first of the
        -     values. It never changes.
        +     """Return the first of the values.
        +
        +     It never changes.
              """
        ''',
    "D205: parameters follow": '''
          def f(size):
              """Return one.
        +
              :param size: unused
              """
        ''',
    "D205: a heading keeps its line": '''
        """
        Return one.
        ~~~~~~~~~~~
        """
        ''',
    "D205: an abbreviation ends no sentence": '''
        def f():
            """Return a value, e.g. One of the many values of the file
            that it reads.
            """
        ''',
    "D205: a list is no sentence": '''
        def f():
            """Return one.
                first: the first
                second: the second
            """
        ''',
    "RUF012: aligned lines stay aligned": """
        + from typing import ClassVar
        +
        +
          class A:
              size: int
        -     sizes = [compute(1),
        -              compute(2)]
        +     sizes: ClassVar = [compute(1),
        +                        compute(2)]
        """,
    "RUF012: a list of strings": """
        + from typing import ClassVar
        +
        +
          class A:
        -     names = ["a", "b"]
        +     names: ClassVar[list[str]] = ["a", "b"]
        """,
    "RUF012: values of several types, beside an import": '''
          """Doc."""

        - from typing import Any
        + from typing import Any, ClassVar


          class A:
        -     names = ["a", 1]
        -     other: dict[str, Any] = {}
        +     names: ClassVar = ["a", 1]
        +     other: ClassVar[dict[str, Any]] = {}
        ''',
    "RUF012: instances that set any attribute": """
        class A:
            names = ["a"]

            def __init__(self, **values):
                for name, value in values.items():
                    setattr(self, name, value)
        """,
    "RUF012: an attribute that instances assign": """
        class A:
            names = []

            def __init__(self):
                self.names = ["a"]
        """,
    "RUF012: a name that is taken": """
        ClassVar = 1


        class A:
            names = []
        """,
    "RUF012: a field of an unknown base": """
        from pkg import Base


        class A(Base):
            tags: list[str] = []
        """,
    "RUF012: a field of a named tuple": """
        from typing import NamedTuple


        class A(NamedTuple):
            tags: list[str] = []
        """,
    "RUF012: a member of an enumeration": """
        from enum import Enum


        class A(Enum):
            TAGS = [1]
        """,
    "RUF012: a field of a decorated class": """
        from pkg import model


        @model
        class A:
            tags: list[str] = []
        """,
    "RUF012: assigned with others": """
        class A:
            tags = []


        def f(x):
            x.tags, y = [], 1
            return y
        """,
    "B904: the handler names the exception": """
          try:
              f()
          except KeyError as error:
        -     raise ValueError("no key")
        +     raise ValueError("no key") from error
        """,
    "B904: the handler gets the name that the file uses": """
          try:
              f()
          except KeyError as exc:
              print(exc)
          try:
              f()
        - except (KeyError, ValueError):
        + except (KeyError, ValueError) as exc:
              raise ValueError(
                  "no key"
        -     )
        +     ) from exc
        """,
    "B904: a name that is used in the function is not taken": """
          def f(err):
              try:
                  g()
        -     except KeyError:
        -         raise ValueError(err)
        +     except KeyError as error:
        +         raise ValueError(err) from error
        """,
    "B904: the name does not hide an export": """
          from pkg import err, error, exc

          try:
              import fast
        - except ImportError:
        -     raise RuntimeError("no fast")
        + except ImportError as e:
        +     raise RuntimeError("no fast") from e
        """,
    "B904: the file hides causes": """
          try:
              f()
          except KeyError:
              raise ValueError("no key") from None
          try:
              f()
        - except TypeError as error:
        -     raise ValueError("no text")
        + except TypeError:
        +     raise ValueError("no text") from None
        """,
    "B904: everything is caught": """
        try:
            f()
        except:
            raise ValueError("no key")
        """,
    "B904: an exception that is raised again keeps its cause": """
        def f(first):
            try:
                g()
            except KeyError:
                raise first
        """,
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_recipe_changes(tmp_path: Path, name: str) -> None:
    before, after = versions(CHANGES[name])
    assert fixed(tmp_path, before, name.partition(":")[0]) == after


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


TEXTS = [
    ("D401", "Returns the value.", "Return the value."),
    ("D401", "Tries again.", "Try again."),
    ("D401", "Matches the name.", "Match the name."),
    ("D401", "Passes the value on.", "Pass the value on."),
    ("D401", "Caches the value.", "Cache the value."),
    ("D401", "Returns the value of the process.", "Return the value of the process."),
    ("D401", "Reads the lines and columns of a file.", ""),  # two verbs
    ("D401", "This returns the value.", ""),
    ("D401", "Process of the file.", ""),
    ("D415", "Return the value", "Return the value."),
    ("D415", "Return the value\n\n    More.\n    ", "Return the value.\n\n    More.\n    "),
    ("D415", "Return the value of\n    the file\n    ", ""),
    ("D415", "Return the value:\n\n    - one\n    ", ""),
    ("D415", "Value", ""),
]


@pytest.mark.parametrize(("rule", "before", "after"), TEXTS)
def test_the_first_line_of_a_docstring(tmp_path: Path, rule: str, before: str, after: str) -> None:
    source = f'def f():\n    """{before}"""\n'
    assert fixed(tmp_path, source, rule) == source.replace(before, after or before)


def test_without_subscripts_in_old_versions_of_python(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.8"\n')
    source = 'size: int = 1\n\n\nclass A:\n    names = ["a"]\n'
    assert 'names: ClassVar = ["a"]' in fixed(tmp_path, source, "RUF012")


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
