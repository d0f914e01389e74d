"""Runs of the type checker that a project is configured for: mypy or pyright."""

import configparser
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
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

SETTINGS_FILES = ("pyproject.toml", "mypy.ini", ".mypy.ini", "setup.cfg", "pyrightconfig.json")
_MYPY_LINE = re.compile(r"^(.+?):(\d+): error: (.*?)(?:  \[([\w-]+)\])?$")
_MYPY_OPTIONS = (
    "--no-pretty",
    "--hide-error-context",
    "--no-error-summary",
    "--no-color-output",
    "--show-error-codes",
)
_MYPY_FAILED = 2
_NEAR_ALL = 300.0


class ProjectChecker(NamedTuple):
    """The command of a project's type checker. `is_mypy` is False for pyright."""

    command: tuple[str, ...]
    is_mypy: bool
    python: ProjectPython

    def check(self, folder: Path, seconds: float) -> list[Diagnostic]:
        """Return the errors in the project in `folder`.

        Raises HostError if the checker fails or does not finish.
        """
        command = Command(
            argv=self.command,
            folder=folder,
            seconds=min(_NEAR_ALL, seconds),
            confinement=Confinement(
                read=(folder, *interpreter_paths(self.python.python, trusted=self.python.trusted)),
                write=(folder,),
            ),
        )
        finished = run_command(command, output_limit=64 * 1024 * 1024)
        if finished.timed_out or finished.returncode >= _MYPY_FAILED or finished.returncode < 0:
            raise HostError(f"{' '.join(self.command[:3])} failed")
        output = finished.stdout.decode("utf-8", "replace")
        return _mypy_errors(output) if self.is_mypy else _pyright_errors(output, folder)


def find_checker(
    settings: Mapping[str, bytes], python: ProjectPython | None, targets: Sequence[str]
) -> ProjectChecker | None:
    """Return the type checker that the project is configured for, if it is installed.

    It must be installed in the project's interpreter, and is only run if it can be isolated or the
    user has allowed it to run without isolation. `targets` are the folders and files to check if
    the configuration does not name any.
    """
    if python is None or (best_level() == 0 and not python.trusted):
        return None
    mypy = _mypy_settings(settings)
    if mypy is not None and _has_package(python.python, "mypy"):
        named = any(key in mypy for key in ("files", "packages", "modules"))
        words = (str(python.python), "-m", "mypy", *_MYPY_OPTIONS)
        return ProjectChecker((*words, *([] if named else targets)), True, python)
    pyright = shutil.which("pyright", path=str(python.python.parent))
    if pyright is not None and _uses_pyright(settings):
        return ProjectChecker((pyright, "--outputjson"), False, python)
    return None


def _has_package(python: Path, name: str) -> bool:
    return any(python.parent.parent.glob(f"lib*/python3*/site-packages/{name}/__main__.py"))


def _mypy_settings(settings: Mapping[str, bytes]) -> Mapping[str, object] | None:
    tool = _pyproject(settings).get("mypy")
    if isinstance(tool, dict):
        return tool
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(settings.get(name, b"").decode("utf-8"))
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section("mypy"):
            return dict(parser["mypy"])
    return None


def _uses_pyright(settings: Mapping[str, bytes]) -> bool:
    return "pyrightconfig.json" in settings or "pyright" in _pyproject(settings)


def _pyproject(settings: Mapping[str, bytes]) -> Mapping[str, object]:
    try:
        document = tomllib.loads(settings.get("pyproject.toml", b"").decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}
    tool = document.get("tool")
    return tool if isinstance(tool, dict) else {}


def _mypy_errors(output: str) -> list[Diagnostic]:
    found = []
    for line in output.splitlines():
        match = _MYPY_LINE.match(line)
        if match:
            path, number, message, code = match.groups()
            found.append(Diagnostic(path, code or "", int(number), 1, message))
    return found


class _PyrightPosition(msgspec.Struct):
    line: int


class _PyrightRange(msgspec.Struct):
    start: _PyrightPosition


class _PyrightItem(msgspec.Struct):
    file: str
    severity: str
    message: str
    range: _PyrightRange
    rule: str = ""


class _PyrightOutput(msgspec.Struct):
    generalDiagnostics: list[_PyrightItem]  # noqa: N815 - the name in its output


def _pyright_errors(output: str, folder: Path) -> list[Diagnostic]:
    try:
        items = msgspec.json.decode(output, type=_PyrightOutput).generalDiagnostics
    except msgspec.DecodeError:
        raise HostError("pyright's output is not valid JSON") from None
    return [
        Diagnostic(
            item.file.removeprefix(f"{folder}/"),
            item.rule,
            item.range.start.line + 1,
            1,
            item.message,
        )
        for item in items
        if item.severity == "error"
    ]
