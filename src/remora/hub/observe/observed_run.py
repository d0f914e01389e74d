"""Test runs with Remora's pytest plugin in the project's interpreter."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remora.errors import HostError, UsageError
from remora.hub.observe.observation_reader import (
    ReadResult,
    read_records,
    recorded_paths,
    recordings,
)
from remora.hub.query.snapshots import Snapshot
from remora.rmtree import temporary_folder
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import ProcessExit, run_attached
from remora.sandbox.supervisor_client import PATH, Command

PLUGIN = Path(__file__).with_name("pytest_plugin.py")
_AS_PYTEST = "import sys; sys.path[:1] = []; import pytest; sys.exit(pytest.main())"
_USAGE_ERROR = 4  # pytest's exit code


@dataclass(frozen=True, kw_only=True)
class PytestOptions:
    """Options of a test run.

    `words` starts with `pytest` or `python -m pytest`. `stdout` is the file descriptor to which the
    tests' output is copied. If `colors` is True, pytest colors it unless its own options say no.
    `trusted` turns isolation off.
    """

    words: Sequence[str]
    folder: Path
    seconds: float
    stdout: int
    colors: bool
    environment: Mapping[str, str] = field(default_factory=dict)
    trusted: bool


@dataclass(frozen=True, kw_only=True)
class ObservedRun:
    """Outcome of a test run: the exit code, whether it timed out, and the records."""

    code: int
    timed_out: bool
    isolation: str
    read: ReadResult


def pytest_command(python: Path, words: Sequence[str]) -> list[str]:
    """Return the command that runs pytest with the interpreter `python`.

    Raises UsageError if `words` is not a pytest command.
    """
    first = words[0].rpartition("/")[2] if words else ""
    if first in {"pytest", "py.test"}:
        return [str(python), "-c", _AS_PYTEST, *words[1:]]
    if first.startswith("python") and list(words[1:3]) == ["-m", "pytest"]:
        return [str(python), "-m", "pytest", *words[3:]]
    command = " ".join(words) or "nothing"
    raise UsageError(
        f"only pytest can be observed, not {command}",
        hint="use e.g. `remora hub observe -- pytest tests`",
    )


def copy_plugin(folder: Path) -> None:
    """Copy the plugin to `folder` as the package `remora_observe`."""
    package = folder / "remora_observe"
    package.mkdir(mode=0o700)
    shutil.copyfile(PLUGIN, package / "__init__.py")
    shutil.copyfile(PLUGIN.with_name("value_types.py"), package / "value_types.py")


def run_tests(
    root: Path, python: Path, options: PytestOptions, look: Callable[[frozenset[str]], Snapshot]
) -> ObservedRun:
    """Run the tests until they finish or time out, and read the records.

    `root` must be resolved. `look` must return a snapshot that includes the given raw paths. Raises
    UsageError if the command is not pytest, and HostError if pytest cannot be started.
    """
    command = pytest_command(python, options.words)
    with temporary_folder("remora-observe-") as private:
        out, plugins = private / "out", private / "plugins"
        out.mkdir(mode=0o700)
        plugins.mkdir(mode=0o700)
        copy_plugin(plugins)
        unbuffered = ["-u"] if os.isatty(options.stdout) else []
        at = 3  # after `-c …` or `-m pytest`
        extra = [*command[1:at], "-p", "remora_observe"]
        ran = Command(
            argv=(command[0], *unbuffered, *extra, *command[at:]),
            folder=options.folder if options.folder.is_relative_to(root) else root,
            seconds=options.seconds,
            confinement=Confinement(
                read=(*interpreter_paths(python, trusted=options.trusted), plugins),
                write=(out,),
                scratch=(root,),
            ),
            environment={
                **options.environment,
                "PATH": f"{python.parent}:{PATH}",
                "PYTHONPATH": str(plugins),
                # the tests write to a pipe, so pytest does not find out that a terminal shows it
                "PY_COLORS": str(int(options.colors)),
                "REMORA_OBSERVE_ROOT": str(root),
                "REMORA_OBSERVE_OUT": str(out),
            },
        )
        result = run_attached(ran, stdout=options.stdout)
        _check_ran(python, result, anything=bool(recordings(out)))
        read = read_records(out, look(recorded_paths(out)))
    return ObservedRun(
        code=result.returncode, timed_out=result.timed_out, isolation=result.isolation, read=read
    )


def _check_ran(python: Path, result: ProcessExit, *, anything: bool) -> None:
    """Raise HostError if pytest neither started nor timed out."""
    if anything or result.timed_out or result.returncode in {0, _USAGE_ERROR, 5}:
        return
    hint = "install pytest in the project's environment"
    if result.returncode < 0:
        hint = "it was killed by a signal before the first test; see its output above"
    raise HostError(f"{python} did not run pytest: it exited with {result.returncode}", hint=hint)
