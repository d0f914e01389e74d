"""Imports of a project's modules in its interpreter, because annotations may be evaluated there."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import HostError
from remora.operations.types.checker.type_checker import Diagnostic
from remora.rmtree import temporary_folder
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.isolation import may_run_code
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
from remora.workspaces.rooted_files import RootedFiles

_SECONDS = 60.0
_RESULT = "failed.json"
_ROOTS = ("src", "lib", "python")
_SCRIPT = f"""\
import sys
del sys.path[0]  # the current folder may have a file such as json.py
import importlib, json
sys.path[:0] = [".", *{_ROOTS!r}]
failed = {{}}
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        failed[name] = f"{{type(error).__name__}}: {{error}}"[:300]
with open(sys.argv[1], "w") as result:
    json.dump(failed, result)
"""


class ImportCheck(NamedTuple):
    """Imports the modules of some files, in one process."""

    paths: tuple[str, ...]
    python: ProjectPython

    def check(self, folder: Path, seconds: float) -> list[Diagnostic]:
        """Return a diagnostic for each module in `folder` that cannot be imported.

        From isolation level 2, the modules' changes of files are discarded. Raises HostError if the process does not finish.
        """
        names = {module_name(path): path for path in self.paths}
        python = self.python
        with temporary_folder("remora-imports-") as out:
            command = Command(
                argv=(str(python.python), "-c", _SCRIPT, str(out / _RESULT), *names),
                folder=folder,
                seconds=min(_SECONDS, seconds),
                confinement=Confinement(
                    read=tuple(interpreter_paths(python.python, trusted=python.trusted)),
                    write=(out,),
                    scratch=(folder,),
                ),
            )
            run_command(command, output_limit=1024 * 1024)
            try:
                found = RootedFiles(out).read_bytes(_RESULT)
                failed = msgspec.json.decode(found, type=dict[str, str])
            except (HostError, msgspec.DecodeError):
                raise HostError("the modules could not be imported") from None
        return [
            Diagnostic(names[name], "import", 1, 1, error)
            for name, error in failed.items()
            if name in names
        ]


def find_import_check(paths: Sequence[str], python: ProjectPython | None) -> ImportCheck | None:
    """Return the check for some files, or None if their code may not be run."""
    if python is None or not may_run_code(python):
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
