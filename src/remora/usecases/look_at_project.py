"""A look at a project: its Python files, its interpreter, and the judges of its changes."""

from pathlib import PurePosixPath
from typing import NamedTuple

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.code.pytest_model.pytest_file import is_test_file
from remora.errors import RemoraError
from remora.files.project_files import project_files
from remora.judges.gates.project_gates import NOT_INSTALLED, find_gates, is_installed
from remora.tools.tree import ToolTree


class ProjectLook(NamedTuple):
    """Contents of a project."""

    folders: dict[str, int]
    """The top folders of its Python files, with their numbers."""
    tests: int
    python: str
    """The interpreter, relative to the root where it is inside, or empty if there is none."""
    problem: str
    """Why there is no interpreter."""
    gates: tuple[str, ...]
    """What judges changes."""
    missing: tuple[str, ...]
    """What cannot judge changes."""


def look_at_project(invocation: Invocation) -> ProjectLook:
    """Look at a project without running any of its code."""
    project = open_project(invocation)
    paths = project_files(project.root, include=project.config.workspace.include).paths
    sources = [PurePosixPath(path) for path in paths if path.endswith(".py")]
    folders: dict[str, int] = {}
    for path in sources:
        top = path.parts[0] if len(path.parts) > 1 else "."
        folders[top] = folders.get(top, 0) + 1
    python, where, problem = None, "", ""
    try:
        python = project.interpreter()
        inside = python.python.is_relative_to(project.root)
        where = str(python.python.relative_to(project.root) if inside else python.python)
    except RemoraError as error:
        problem = f"{error.message}: {error.hint}"
    gates, gaps = find_gates(ToolTree(project.root), paths, python)
    missing = [f"{gap.name}: {gap.missing}" for gap in gaps]
    missing += [
        f"{gate.label}: {NOT_INSTALLED}" for gate in gates if not is_installed(gate, python)
    ]
    return ProjectLook(
        folders=folders,
        tests=sum(is_test_file(str(path)) for path in sources),
        python=where,
        problem=problem,
        gates=tuple(gate.label for gate in gates if is_installed(gate, python)),
        missing=tuple(missing),
    )
