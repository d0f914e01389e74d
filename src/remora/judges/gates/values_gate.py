"""Gate of written annotations: each must accept what the project's tests pass and return.

The tests run once more with typeguard, which checks the slots that were written now and no others.
Its failures are collected, so no test fails by them. typeguard is Remora's own copy.
"""

import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.errors import HostError
from remora.judges.gates.annotated_slots import AnnotatedSlot, Place, slots_of
from remora.judges.gates.code_gates import run_tests
from remora.judges.gates.gate import Gate, Levels, UnjudgedError, problems
from remora.rmtree import temporary_folder
from remora.sandbox.interpreters import ProjectPython
from remora.statuses import VALUES_GATE
from remora.workspaces.rooted_files import RootedFiles

_PLUGIN = Path(__file__).with_name("values_plugin.py")
_STUB = """\
import os, sys
out = os.environ["REMORA_VALUES"] = os.path.dirname(os.path.abspath(__file__))
why = ""
if sys.version_info < (3, 10):
    why = "typeguard needs Python 3.10, and the project has %d.%d" % sys.version_info[:2]
else:
    try:
        from remora_values_plugin import pytest_configure
    except Exception as error:
        why = "typeguard cannot be imported: %s" % error
if why:
    with open(os.path.join(out, "unjudged"), "w") as file:
        file.write(why)
"""
_LIMIT = 1 << 24
_MAX_KIND = 300
_Found = tuple[list[int], dict[int, list[str]]]
Contents = Mapping[str, bytes | None]
"""The contents of files by path, with None for one that does not exist."""


class ValuesGate:
    """The slots that were checked, and the types of values that they did not accept.

    `before` has the contents of the files that may change, by path, and `worse` returns what is
    worse in a report of the tests than in one without typeguard.
    """

    def __init__(
        self, python: ProjectPython, before: Contents, worse: Callable[[Levels], list[str]]
    ) -> None:
        self._python, self._worse = python, worse
        self._before = {path: slots_of(path, text or b"") for path, text in before.items()}
        self._checked: dict[AnnotatedSlot, tuple[str, ...]] = {}
        self._measured: list[Contents] = []

    @property
    def gate(self) -> Gate:
        """The gate, whose label names what it compares."""
        return Gate(VALUES_GATE, "annotations of values in tests", self.measure, runs_code=True)

    def measure(self, folder: Path, seconds: float, tests: tuple[str, ...]) -> Levels:
        """Return the values that the annotations written in a folder do not accept.

        What is known of the same annotation is not measured again, unless the files are the same,
        too. Raises UnjudgedError.
        """
        files = RootedFiles(folder)
        contents = {path: files.read_bytes(path) for path in filter(files.exists, self._before)}
        written = self.written(contents)
        is_again = contents in self._measured
        self._measured += [] if is_again else [contents]
        if written and (is_again or not written.keys() <= self._checked.keys()):
            try:
                self._check(written, folder, seconds, tests)
            except UnjudgedError:
                raise
            except HostError as error:
                raise UnjudgedError(error.message) from error
        return problems(slot.describe(kind) for slot in written for kind in self._checked[slot])

    def written(self, after: Contents) -> dict[AnnotatedSlot, Place]:
        """Return the slots of files that were not there before. Tests have none."""
        return {
            slot: place
            for path, text in after.items()
            if path.endswith(".py") and not is_of_tests(path)
            for slot, place in slots_of(path, text or b"").items()
            if slot not in self._before[path]
        }

    def _check(
        self,
        written: Mapping[AnnotatedSlot, Place],
        folder: Path,
        seconds: float,
        tests: tuple[str, ...],
    ) -> None:
        slots = [*written]
        with temporary_folder("values-") as out:
            _fill(out, written, folder.resolve())
            after = run_tests(self._python, folder, seconds, tests, ("remora_values", out))
            checked, failed = _read(out)
        if said := self._worse(after):
            raise UnjudgedError(f"the tests differ while typeguard checks them: {said[0]}")
        if not checked:
            raise UnjudgedError("the tests call no function with a written annotation")
        for number, slot in enumerate(slots):
            kinds = failed.get(number, []) if number in checked else []
            self._checked[slot] = tuple(
                kind for kind in kinds if len(kind) <= _MAX_KIND and kind.isprintable()
            )


def _fill(out: Path, written: Mapping[AnnotatedSlot, Place], folder: Path) -> None:
    """Write the plugin, typeguard and the functions to check into a folder."""
    found = [(name, find_spec(name)) for name in ("typeguard", "typing_extensions")]
    (out / "remora_vendor").mkdir()
    for name, spec in found:
        if spec is None or spec.origin is None:
            raise UnjudgedError(f"{name} is not installed (pip install 'remora-code[types]')")
        origin = Path(spec.origin)
        if origin.name == "__init__.py":
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(origin.parent, out / "remora_vendor" / name, ignore=ignored)
        else:
            shutil.copy(origin, out / "remora_vendor")
    functions: dict[tuple[str, int, str], tuple[tuple[str, ...], dict[str, tuple[int, str]]]] = {}
    for number, (slot, place) in enumerate(written.items()):
        key = str(folder / slot.path), place.line, place.function_name
        functions.setdefault(key, (place.classes, {}))[1][slot.name] = number, place.expression
    orders = [(*key, *function) for key, function in functions.items()]
    (out / "orders.json").write_bytes(msgspec.json.encode(orders))
    (out / "remora_values.py").write_text(_STUB)
    shutil.copy(_PLUGIN, out / "remora_values_plugin.py")


def _read(out: Path) -> tuple[set[int], dict[int, list[str]]]:
    """Return the slots that were checked and what failed, from the files of all processes.

    They come from processes that ran code of the project, and are not trusted.
    """
    files = RootedFiles(out)
    if files.exists("unjudged"):
        text = files.read_bytes("unjudged", limit=_LIMIT).decode("utf-8", "replace")
        raise UnjudgedError(" ".join(text.split())[:_MAX_KIND])
    checked, failed = set[int](), dict[int, list[str]]()
    for name in files.glob("values-*.json"):
        try:
            data = files.read_bytes(name, limit=_LIMIT)
            seen, wrong = msgspec.json.decode(data, type=_Found)
        except msgspec.DecodeError as error:
            raise UnjudgedError("what the tests passed was not written down") from error
        checked.update(seen)
        for number, kinds in wrong.items():
            failed.setdefault(number, []).extend(k for k in kinds if k not in failed[number])
    return checked, failed
