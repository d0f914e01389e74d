"""Imports of a project's modules and its tests as judges, because code may read annotations."""

import re
import shutil
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file
from remora.errors import HostError
from remora.operations.types.checker.judge import imported_words, module_word
from remora.operations.types.checker.type_checker import Diagnostic
from remora.operations.types.source.project_index import ProjectIndex
from remora.rmtree import temporary_folder
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.isolation import SAFE_LEVEL, best_level, may_run_code
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import PATH, Command
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


_TEST_SECONDS = 20.0
_MAX_BYTES = 64 * 1024 * 1024
_OPTIONS = (
    *("-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-o", "addopts="),
    "--continue-on-collection-errors",
)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (([^\s:]+)\S*)(?: - (.*))?$", re.MULTILINE)
_RAN = (0, 1)


class ProjectTests(NamedTuple):
    """Runs the test files that import some modules, if that takes less than 20 seconds.

    These are the files that name a module, or else those that name a package around it.
    """

    paths: tuple[str, ...]
    python: ProjectPython

    def check(self, folder: Path, seconds: float) -> list[Diagnostic]:
        """Return a diagnostic for each test in `folder` that fails.

        The tests' changes of files are discarded. Raises HostError if they do not run to the end.
        """
        python = self.python
        paths = (f"./{path}" for path in self.paths)  # a name may begin with `-`
        command = Command(
            argv=(str(python.python), "-B", "-m", "pytest", *_OPTIONS, *paths),
            folder=folder,
            seconds=min(_TEST_SECONDS, seconds),
            confinement=Confinement(
                read=tuple(interpreter_paths(python.python, trusted=python.trusted)),
                scratch=(folder,),
            ),
            environment={
                "PATH": f"{python.python.parent}:{PATH}",
                "PYTHONPATH": f"{folder}:{folder / 'src'}",
                "PYTHONHASHSEED": "0",
            },
        )
        finished = run_command(command)
        if finished.timed_out or finished.returncode not in _RAN:
            raise HostError("the project's tests do not run in time")
        output = finished.stdout.decode("utf-8", "replace")
        return [
            Diagnostic(path, test, 1, 1, message or "failed")
            for test, path, message in _FAILED.findall(output)
        ]


def find_project_tests(
    changed: Collection[str], index: ProjectIndex, python: ProjectPython | None
) -> ProjectTests | None:
    """Return the tests of some files, or None if there are none or they may not be run.

    Their changes of files must be discarded and the network out of their reach.
    """
    if python is None or best_level() < SAFE_LEVEL:
        return None
    modules = {module_word(path) for path in changed}
    packages = {part for path in changed for part in path.split("/")[:-1]} - {"src"}
    tests = {path: imported_words(path, index) for path in index.files if is_test_file(path)}
    for words in (modules, packages):
        paths = tuple(path for path, imported in sorted(tests.items()) if words & imported)
        if paths:
            return ProjectTests(paths, python)
    return None


def copy_data_files(tree: Path, folder: Path) -> bool:
    """Copy the files of a tree that are not Python files into a folder that lacks them.

    Hidden files are left out, because a `.gitignore` changes what type checkers read. Returns False,
    and copies nothing, if they are too large. Returns False, too, if a file cannot be copied.
    """
    found, size = list[Path](), 0
    with suppress(OSError):
        for path in tree.rglob("*"):
            inner = path.relative_to(tree)
            is_hidden = any(part.startswith(".") for part in inner.parts)
            if not is_hidden and path.suffix not in (".py", ".pyi") and not path.is_symlink():
                state = path.stat()
                if stat.S_ISREG(state.st_mode):
                    found.append(inner)
                    size += state.st_size
        for inner in found if size <= _MAX_BYTES else ():
            if not (folder / inner).exists():
                (folder / inner).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(tree / inner, folder / inner)
        return size <= _MAX_BYTES
    return False
