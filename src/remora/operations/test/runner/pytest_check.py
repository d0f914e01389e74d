"""Check that the project's interpreter starts and has pytest."""

import functools

from remora.operations.test.runner.parent import run_in_child
from remora.sandbox.child.rmtree import temporary_folder
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree


@functools.cache  # tried once per interpreter and command
def require_pytest(python: ProjectPython) -> None:
    """Raise HostError if the interpreter does not start or has no pytest."""
    with temporary_folder("remora-ready-") as empty:
        run_in_child(ToolTree(empty, python), [], [])
