"""Imports of a project's modules in its interpreter, because annotations may be evaluated there."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import HostError
from remora.operations.types.checker.type_checker import Diagnostic
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.isolation import best_level
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command

_SECONDS = 60.0
_MARK = "remora-failed-imports:"
_ROOTS = ("src", "lib", "python")
_SCRIPT = f"""\
import importlib, json, sys
sys.path[:0] = [".", *{_ROOTS!r}]
failed = {{}}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        failed[name] = f"{{type(error).__name__}}: {{error}}"[:300]
print()
print({_MARK!r} + json.dumps(failed), flush=True)
"""


class ImportCheck(NamedTuple):
    """Imports the modules of some files, in one process."""

    paths: tuple[str, ...]
    python: ProjectPython

    def check(self, folder: Path, seconds: float) -> list[Diagnostic]:
        """Return a diagnostic for each module in `folder` that cannot be imported.

        Raises HostError if the process does not finish.
        """
        names = {module_name(path): path for path in self.paths}
        python = self.python
        command = Command(
            argv=(str(python.python), "-c", _SCRIPT, *names),
            folder=folder,
            seconds=min(_SECONDS, seconds),
            confinement=Confinement(
                read=(folder, *interpreter_paths(python.python, trusted=python.trusted)),
                write=(folder,),
            ),
        )
        finished = run_command(command, output_limit=1024 * 1024)
        _, mark, rest = finished.stdout.decode("utf-8", "replace").rpartition(_MARK)
        if not mark:
            raise HostError("the modules could not be imported")
        failed = msgspec.json.decode(rest.strip(), type=dict[str, str])
        return [Diagnostic(names[name], "import", 1, 1, error) for name, error in failed.items()]


def find_import_check(paths: Sequence[str], python: ProjectPython | None) -> ImportCheck | None:
    """Return the check for some files, or None if their code may not be run.

    It needs the project's interpreter, and is only run if it can be isolated or the user has
    allowed it to run without isolation.
    """
    if python is None or (best_level() == 0 and not python.trusted):
        return None
    named = tuple(path for path in paths if module_name(path))
    return ImportCheck(named, python) if named else None


def module_name(path: str) -> str:
    """Return the name of a module, or an empty string for scripts such as `setup.py`."""
    parts = path.removesuffix(".py").split("/")
    if path.endswith(".pyi") or parts[-1] in ("__main__", "setup", "conftest"):
        return ""
    if parts[0] in _ROOTS:
        parts = parts[1:]
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts) if parts and all(each.isidentifier() for each in parts) else ""
