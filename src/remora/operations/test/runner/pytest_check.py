"""Whether tests can be run at all: the project's interpreter is started once, and pytest imported."""

import functools

from remora.operations.test.runner.parent import run_in_child
from remora.sandbox.child.rmtree import temporary_folder
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree


@functools.cache  # an interpreter is tried once per command, whoever asks
def require_pytest(python: ProjectPython) -> None:
    """Raises HostError where the interpreter does not start, or has no pytest."""
    with temporary_folder("remora-ready-") as empty:
        run_in_child(ToolTree(empty, python), [], [])
