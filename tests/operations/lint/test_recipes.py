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
    "B904: other handlers of the function may have the name": """
          def f():
              try:
                  g()
              except KeyError as err:
                  print(err)
              try:
                  g()
        -     except ValueError:
        -         raise TypeError("no number")
        +     except ValueError as err:
        +         raise TypeError("no number") from err
        """,
    "B904: a handler around it has the name": """
          try:
              f()
          except KeyError as err:
              try:
                  g(err)
        -     except ValueError:
        -         raise TypeError("no number")
        +     except ValueError as error:
        +         raise TypeError("no number") from error
        """,
    "B904: a function in a handler has none": """
        try:
            f()
        except KeyError:

            def g():
                raise ValueError("no key")
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


        try:
            f()
        except BaseException as error:
            raise error.with_traceback(trace)
        """,
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_recipe_changes(tmp_path: Path, name: str) -> None:
    before, after = versions(CHANGES[name])
    assert fixed(tmp_path, before, name.partition(":")[0]) == after
