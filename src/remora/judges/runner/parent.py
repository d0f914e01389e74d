"""Runs orders in the project's interpreter, in isolation, and reads the results.

The results are untrusted, because they come from a process that ran the project's code. All changes
that the process makes to the tree are discarded.
"""

import functools
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from remora.errors import HostError
from remora.rmtree import temporary_folder
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import ProjectPython, interpreter_paths
from remora.sandbox.isolation import SAFE_LEVEL, may_run_code
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import PATH, Command
from remora.tools.tree import ToolTree
from remora.workspaces.rooted_files import RootedFiles

CHILD = Path(__file__).with_name("child")
_PROGRAM = """
import sys
sys.path[0] = sys.argv.pop()
from remora_test_child.request_loop import main
main()
"""
"""Program of the child process. The package's name avoids conflicts with project modules."""
SHIFT = 400 * 24 * 3600 + 3723
"""Clock shift in seconds: over a year and not a whole hour, so that dates and minutes differ."""
_CACHES = shutil.ignore_patterns("__pycache__")
_RESULT_LIMIT = 1 << 20
_ALL_RESULTS = 1 << 24
"""Maximum total size of a process's results in bytes. Normally, a call takes a few hundred."""
_GRACE = 10.0


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that must not affect a result, because they differ between machines.

    `shift` is added to the clock, in seconds. The variable `HOSTNAME` replaces the name of the
    machine. With `moved`, the working directory is not the project's root, and the folders in
    `_MOVED` are others. With `ascii_files`, files that are opened without an encoding are ASCII.
    """

    hash_seed: int
    shift: int = 0
    moved: bool = False
    ascii_files: bool = False
    variables: Mapping[str, str]


CIRCUMSTANCES = (
    Circumstances(
        hash_seed=1,
        variables={"TZ": "UTC", "USER": "ann", "LOGNAME": "ann", "TERM": "dumb", "COLUMNS": "80"},
    ),
    Circumstances(
        hash_seed=20_011,
        shift=SHIFT,
        moved=True,
        variables={
            "TZ": "XYZ-7", "USER": "zoe", "LOGNAME": "zoe", "TERM": "xterm-256color", "COLUMNS": "133",
            "HOSTNAME": "elsewhere", "LC_ALL": "C", "LANG": "de_DE.UTF-8", "LANGUAGE": "de",
        },
    ),
)  # fmt: skip
"""Two different circumstances for repeated runs."""
_SEEDS = (2, 3, 4, 5, 6)
"""Further hash seeds. Two strings in a set are in another order with one of all seven in 98 %."""
_MOVED = {
    "HOME": "zoe", "TMPDIR": "temporary", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "runtime",
}  # fmt: skip
"""Folders in `moved`, by the variable that names them. In the first run, XDG variables are unset."""

Order = dict[str, Any]


class _TestResult(msgspec.Struct, omit_defaults=True):
    outcome: str = ""
    message: str = ""


class TracedTest(msgspec.Struct):
    """Code that a test entered."""

    codes: list[tuple[str, int, str]] = []
    """The file, first line and name of each function."""
    calls: list[tuple[int, int, int]] = []
    """The caller's index, the line of the call and the callee's index."""
    branches: list[tuple[str, int, int]] = []
    """The file of each executed line, the line before it in the same call, and its own number."""


class _ChildResult(msgspec.Struct, omit_defaults=True):
    """The result of an order or a call. Other keys are ignored."""

    problem: str = ""
    code: int | None = None
    tests: dict[str, _TestResult] = {}
    failed: list[str] = []
    lines: list[int] = []
    seen: dict[str, TracedTest] = {}
    effects: list[str] = []
    reaching: list[str] = []
    kills: list[tuple[str, int, str]] = []
    entering: list[tuple[str, int]] = []
    broken: list[tuple[str, int]] = []
    early: list[int] = []
    fixed: list[int] = []
    unknown: list[int] = []
    complete: bool = False
    swapped: bool = False
    tried: int = 0
    imported: bool = False
    how: str = ""
    claims: list[tuple[str, str]] = []
    listed: bool = False
    effect: str = ""
    type: str = ""
    module: str = ""
    path: str = ""
    line: int | None = None
    hashed: bool = False
    value: str = ""
    printed: str = ""
    raised: str = ""


class Results:
    def __init__(self, files: Mapping[str, dict[str, Any]]) -> None:
        self._files = files

    def of(self, order: int, call: int | None = None) -> dict[str, Any] | None:
        """Return the result of an order or a call, or None if there is no result.

        There is no result of an order if it was killed, nor of a call whose process exited early.
        """
        name = str(order) if call is None else f"{order}-{call}"
        return self._files.get(name)

    def of_mutant(self, mutant: int) -> list[int] | None:
        """Return the indexes of the calls of the first order that a mutant changes.

        Returns None if it did not run.
        """
        found = self._files.get(f"0-m{mutant}")
        return found.get("lines", []) if found is not None and found.get("how") == "ran" else None

    def steady(self) -> list[int]:
        """Return the indexes of the calls of the first order that are compared with mutants."""
        found = self._files.get("0-steady")
        return [*found.get("lines", ())] if found is not None else []

    def use_sets(self) -> bool:
        """Return True if code that ran uses sets, whose order depends on the hash seed."""
        return any(result.get("hashed") for result in self._files.values())

    def is_late(self, order: int) -> bool:
        return f"{order}-late" in self._files


def run_in_child(
    place: ToolTree,
    paths: Sequence[str],
    orders: Sequence[Order],
    under: Circumstances = CIRCUMSTANCES[0],
) -> Results:
    """Run orders in a child process. If there are no orders, only check that pytest is installed.

    `paths` contains the folders of the tree to import from. Raises HostError if running the
    project's code is not allowed, or if its interpreter does not start.
    """
    python = require_permission(place.python)
    needed = sum(order["seconds"] for order in orders) + _GRACE
    root = place.seen
    with temporary_folder("proving-") as private:
        (private / "out" / "scratch").mkdir(mode=0o700, parents=True)
        program = shutil.copytree(
            CHILD, private / "program" / "remora_test_child", ignore=_CACHES
        ).parent
        asked = {
            "root": str(root),
            "away": str(python.root),
            "out": str(private / "out"),
            "scratch": str(private / "out" / "scratch"),
            "folder": str(_moved(private) / "work" if under.moved else root),
            "paths": [str(root / path) if path else str(root) for path in paths],
            "shift": under.shift,
            "host": under.variables.get("HOSTNAME", ""),
            "ascii_files": under.ascii_files,
            "orders": list(orders),
        }
        command = Command(
            argv=(str(python.python), "-B", "-c", _PROGRAM, str(program)),
            folder=place.tree,
            seconds=min(needed, place.left()),
            confinement=Confinement(
                read=(*_readable_paths(python), program),
                write=(private / "out",),
                scratch=(place.tree,),
            ),
            environment={
                "PATH": f"{python.python.parent}:{PATH}",
                "PYTHONDONTWRITEBYTECODE": "1",
                "HYPOTHESIS_STORAGE_DIRECTORY": str(private / "out" / "scratch"),
                **_variables(under, private),
            },
        )
        finished = run_command(
            command, output_limit=_RESULT_LIMIT, stdin=json.dumps(asked).encode()
        )
        place.note_isolation(finished.isolation)
        results = _read(private / "out", orders)
    if "pytest" in results:
        raise HostError(
            f"{python.python} has no pytest: install it there (`{python.python} -m pip install "
            "pytest`), or set `python` in remora.yaml to another interpreter"
        )
    if not results:
        last_line = finished.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        why = (
            "it took too long" if finished.timed_out else last_line or f"code {finished.returncode}"
        )
        raise HostError(
            f"the project's interpreter {python.python} returned no result: {why[:200]}"
        )
    return Results(results)


def run_repeatedly(
    place: ToolTree, paths: Sequence[str], orders: Sequence[Order], first: Sequence[Order] = ()
) -> list[Results]:
    """Return the results of orders in two circumstances, in the first one of `first` if it is given.

    If what runs uses sets, there are more results, with other hash seeds.
    """
    run = functools.partial(run_in_child, place, paths)
    under = (msgspec.structs.replace(CIRCUMSTANCES[0], hash_seed=seed) for seed in _SEEDS)
    with ThreadPoolExecutor(2) as pool:
        runs = [*pool.map(run, (first or orders, orders), CIRCUMSTANCES)]
        if runs[0].use_sets():
            runs += pool.map(functools.partial(run, orders), under)
    return runs


def _moved(private: Path) -> Path:
    return private / "out" / "moved"


def _variables(under: Circumstances, private: Path) -> dict[str, str]:
    """Return the environment variables of the circumstances, and create the folders they name."""
    found = {**under.variables, "PYTHONHASHSEED": str(under.hash_seed)}
    if under.moved:
        for folder in ("work", *_MOVED.values()):
            (_moved(private) / folder).mkdir(mode=0o700, parents=True)
        found |= {name: str(_moved(private) / folder) for name, folder in _MOVED.items()}
    return found


def require_permission(python: ProjectPython | None) -> ProjectPython:
    """Return the interpreter. Raises HostError if running the project's code is not allowed."""
    if python is None:
        raise HostError("running the project's code is not permitted")
    if not may_run_code(python):
        raise HostError(f"running the project's code needs isolation level {SAFE_LEVEL} or consent")
    return python


def _readable_paths(python: ProjectPython) -> list[Path]:
    """Return the paths that the interpreter needs, without the original files of the project.

    The tree is a copy of the project. If the project is installed in editable mode, the original
    must not be imported.
    """
    found = interpreter_paths(python.python, trusted=python.trusted or python.activated)
    prefixes = {python.python.parent.parent.resolve(), python.python.resolve().parent.parent}
    return [
        path
        for path in found
        if not path.resolve().is_relative_to(python.root)
        or any(path.resolve().is_relative_to(prefix) for prefix in prefixes)
    ]


def _read(out: Path, orders: Sequence[Order]) -> dict[str, dict[str, Any]]:
    """Return the valid results. Result files must be regular files within the size limits."""
    files = RootedFiles(out)
    found: dict[str, dict[str, Any]] = {}
    left = _ALL_RESULTS
    for name in _result_names(orders):
        try:
            content = files.read_bytes(f"{name}.json", limit=min(_RESULT_LIMIT, left))
            left -= len(content)
            result = msgspec.json.decode(content, type=_ChildResult)
        except (HostError, msgspec.DecodeError, RecursionError):
            continue
        found[name] = msgspec.to_builtins(result)
    return found


def _result_names(orders: Sequence[Order]) -> Iterator[str]:
    yield from ("pytest", "done")
    for number, order in enumerate(orders):
        yield from (str(number), f"{number}-late", f"{number}-steady")
        yield from (f"{number}-{call}" for call in range(len(order.get("calls", ()))))
        yield from (f"{number}-m{mutant}" for mutant in range(len(order.get("mutants", ()))))


@functools.cache  # tried once per interpreter and command
def require_pytest(python: ProjectPython) -> None:
    """Raise HostError if the interpreter does not start or pytest is not installed."""
    with temporary_folder("ready-") as empty:
        run_in_child(ToolTree(empty, python), [], [])
