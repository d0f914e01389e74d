"""Recipes that rename variables."""

from pathlib import Path

import pytest

from tests.operations.lint.test_recipes import UNCHANGED, fixed, lines

LOOP = {
    "a converted loop variable": (
        """
        def f(rows):
            for row in rows:
                if not row:
                    continue
                row = row.strip()
                print(row)
        """,
        """
        def f(rows):
            for raw_row in rows:
                if not raw_row:
                    continue
                row = raw_row.strip()
                print(row)
        """,
    ),
    "a value used after the loop": (
        """
        def f(rows):
            for row in rows:
                if not row:
                    continue
                row = row.strip()
            return row
        """,
        UNCHANGED,
    ),
    "a value that a handler around the loop reports": (
        """
        def f(args):
            try:
                for arg in args:
                    arg = int(arg)
                    print(arg)
            except ValueError:
                print("bad", arg)
        """,
        UNCHANGED,
    ),
    "a value that is not a conversion": (
        """
        def f(nodes):
            for node in nodes:
                node = node.parent
        """,
        UNCHANGED,
    ),
    "a function that reads its variables by name": (
        """
        def f(rows):
            for row in rows:
                row = row.strip()
                print(locals())
        """,
        UNCHANGED,
    ),
}
AMBIGUOUS = {
    "the items of a plural": (
        """
        def f(self):
            return [l.name for l in self.layers if l]
        """,
        """
        def f(self):
            return [layer.name for layer in self.layers if layer]
        """,
    ),
    "a length": (
        """
        def f(rows):
            l = len(rows)
            return l
        """,
        """
        def f(rows):
            length = len(rows)
            return length
        """,
    ),
    "a name that is used": (
        """
        def f(self, layer):
            return [l.name for l in self.layers if l]
        """,
        UNCHANGED,
    ),
    "a variable with two meanings": (
        """
        def f(rows):
            l = len(rows)
            for l in rows:
                print(l)
        """,
        UNCHANGED,
    ),
}


@pytest.mark.parametrize(("source", "expected"), LOOP.values(), ids=LOOP)
def test_loop_variables(tmp_path: Path, source: str, expected: str) -> None:
    assert fixed(tmp_path, source, "PLW2901") == lines(expected or source)


@pytest.mark.parametrize(("source", "expected"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_ambiguous_names(tmp_path: Path, source: str, expected: str) -> None:
    assert fixed(tmp_path, source, "E741") == lines(expected or source)
