"""Runs of a project's interpreter."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import PATH, Command

_OUTPUT_LIMIT = 64 * 1024 * 1024
"""Bytes of output that are kept (decision)."""


def run_python(
    python: ProjectPython,
    words: Sequence[str],
    folder: Path,
    seconds: float,
    out: tuple[Path, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> ProcessResult:
    """Run a project's interpreter in a folder.

    From isolation level 2, changes of files are discarded, but for those in `out`.
    """
    read = tuple(interpreter_paths(python.python, trusted=python.trusted))
    command = Command(
        argv=(str(python.python), *words),
        folder=folder,
        seconds=seconds,
        confinement=Confinement(read=read, write=out, scratch=(folder,)),
        environment={"PATH": f"{python.python.parent}:{PATH}", **(environment or {})},
    )
    return run_command(command, output_limit=_OUTPUT_LIMIT)
