"""The program that runs in the project's interpreter, which may be older than Remora's."""

import ast
from pathlib import Path

import pytest

from remora.operations.test.runner.parent import CHILD

NEWER = {"removeprefix", "removesuffix", "is_relative_to", "unparse", "pairwise", "with_stem"}
"""Methods and functions that Python 3.8 does not have."""


@pytest.mark.parametrize("path", sorted(CHILD.glob("*.py")), ids=lambda path: path.stem)
def test_the_program_runs_with_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 8))
    assert not NEWER & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
