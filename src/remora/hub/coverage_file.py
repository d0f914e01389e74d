"""Tests that ran a function, according to the project's coverage file.

`pytest --cov --cov-context=test`, and coverage with `dynamic_context = test_function`, record which
test ran which lines (https://coverage.readthedocs.io/en/latest/dbschema.html). The file has no hashes
of the code, so nothing is said of a file that is newer, or whose lines cannot be those that ran.
"""

import ast
import sqlite3
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path

from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.pytest_model.pytest_settings import parse_ini, parse_toml
from remora.code.syntax.definitions import DEFINITIONS, FunctionNode, find_definitions
from remora.errors import HostError
from remora.files.disposable_sqlite import DEFENSIVE
from remora.hub.members.members import Members
from remora.ids import escape_path
from remora.python_text import parse
from remora.text import some_of
from remora.workspaces.rooted_files import RootedFiles

_LIMIT = 1 << 28
"""The most bytes of a coverage file (decision: it is read into memory)."""
_SECONDS = 10.0
"""The most seconds of its queries: a hostile file may have views that never end."""
_MAX_LINE = 1 << 20
_MAX_CONTEXTS = 1_000_000
_WORK = 1 << 29
"""The most bytes of bits of all rows: the rows of a hostile file may be far larger than the file."""
_PHASES = ("setup", "run", "teardown")
_INI = ((".coveragerc", "run"), ("setup.cfg", "coverage:run"), ("tox.ini", "coverage:run"))
_HOW = "`pytest --cov --cov-context=test` records which test runs which lines"


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The tests that ran functions, as pytest IDs without parameters, by the function's key.

    `day` is when the file was written, and `note` says why nothing is known of some code.
    """

    file: str
    day: str = ""
    tests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""


def read_coverage(root: Path, paths: Collection[str]) -> Coverage | None:
    """Return the tests of the functions in some files, or None if there is no coverage file."""
    files = RootedFiles(root)
    name = _data_file(files, root)
    try:
        if not files.exists(name):
            return None
        written = files.stat(name).st_mtime_ns
        ran = _ran_lines(files.read_bytes(name, limit=_LIMIT), root, set(paths))
    except HostError as error:
        return Coverage(file=name, note=error.message)
    except (sqlite3.Error, LookupError, ValueError, TypeError, MemoryError):  # empty: the last
        return Coverage(file=name, note=f"{name} is not a readable coverage file")
    day = datetime.fromtimestamp(written / 1e9, UTC).date().isoformat()
    if not any(context for lines in ran.values() for context in lines):
        note = f"{name} has no contexts for this code; {_HOW}"
        return Coverage(file=name, day=day, note=note)
    known, changed, found = _Tests(files, written), list[str](), dict[str, tuple[str, ...]]()
    for path, lines in sorted(ran.items()):
        own = _own_lines(files, path, lines.values()) if known.is_unchanged(path) else None
        if own is None:
            changed.append(path)
        else:
            found.update(known.of_functions(own, lines))
    note = f"{some_of(changed, 1)} changed after the coverage of {day}" if changed else ""
    return Coverage(file=name, day=day, tests=found, note=note)


def _data_file(files: RootedFiles, root: Path) -> str:
    """Return the path that coverage's settings give its file, within the root."""
    name: object = None
    # coverage says what is wrong with its settings
    with suppress(HostError, UnicodeDecodeError, KeyError, TypeError):
        for path, section in _INI:
            if name is None and files.exists(path):
                ini = parse_ini(files.read_bytes(path).decode())
                name = ini.get(section, "data_file", fallback=None)
        if name is None and files.exists("pyproject.toml"):
            document = parse_toml(files.read_bytes("pyproject.toml").decode())
            name = document["tool"]["coverage"]["run"]["data_file"]
    given = str(name or ".coverage").removeprefix(f"{root}/")
    return ".coverage" if given.startswith("/") or ".." in given.split("/") else given


def _ran_lines(data: bytes, root: Path, paths: Collection[str]) -> dict[str, dict[str, int]]:
    """Return the lines that ran as bits of a number, by path and context."""
    until, left = time.monotonic() + _SECONDS, _WORK
    ran: dict[str, dict[str, int]] = {}
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data)
        for pragma in DEFENSIVE:
            db.execute(pragma)
        db.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_LINE)
        contexts = dict(islice(db.execute("SELECT id, context FROM context"), _MAX_CONTEXTS))
        for number, name in db.execute("SELECT id, path FROM file").fetchall():
            path = str(name).removeprefix(f"{root.resolve()}/")
            if path not in paths:
                continue
            lines = ran.setdefault(path, defaultdict(int))
            for context, bits in _rows(db, number):
                lines[str(contexts[context])] |= bits
                left -= bits.bit_length() >> 3
                if left < 0:
                    raise ValueError(path)
    return ran


def _rows(db: sqlite3.Connection, file: object) -> Iterator[tuple[object, int]]:
    sql = "SELECT context_id, numbits FROM line_bits WHERE file_id = ?"
    for context, numbits in db.execute(sql, (file,)):
        yield context, int.from_bytes(numbits, "little")
    sql = "SELECT context_id, fromno, tono FROM arc WHERE file_id = ?"
    for context, start, end in db.execute(sql, (file,)):
        yield context, _bits(line for line in (start, end) if 0 < line < _MAX_LINE)


def _own_lines(files: RootedFiles, path: str, ran: Iterable[int]) -> dict[str, int] | None:
    """Return the lines of each function that run only when it is called, as bits, by its key.

    The result is None if these cannot be the lines that ran: one of them begins nothing, or a
    definition that an import runs did not run.
    """
    try:
        tree = parse(files.read_bytes(path))
        every = _bits(n.lineno for n in ast.walk(tree) if hasattr(n, "lineno"))
    except (HostError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    seen = 0
    for lines in ran:
        seen |= lines
    top = [
        _bits((node.lineno, *(decorator.lineno for decorator in node.decorator_list)))
        for node in tree.body
        if isinstance(node, DEFINITIONS)
    ]
    if seen & ~(every | 0b11) or not all(seen & head for head in top):  # a module begins at 0 or 1
        return None
    definitions = {
        definition.key: definition for definition in find_definitions(tree, escape_path(path))
    }
    own: dict[str, int] = {}
    for key, definition in definitions.items():
        if isinstance(definition.node, ast.ClassDef):
            continue
        body = own[key] = _body(definition.node)
        parent = definitions.get(definition.parent)
        while parent is not None:
            if parent.key in own:
                own[parent.key] &= ~body
            parent = definitions.get(parent.parent)
    return own


def _body(node: FunctionNode) -> int:
    head = [node.args, *([node.returns] if node.returns else []), *node.decorator_list]
    inner = [getattr(child, "end_lineno", 0) for part in head for child in ast.walk(part)]
    return _bits(range(max(node.lineno, *inner) + 1, (node.end_lineno or 0) + 1))


def _bits(lines: Iterable[int]) -> int:
    found = 0
    for line in set(lines):
        found |= 1 << line
    return found


class _Tests:
    """The tests that contexts name, in test files that are older than the coverage file."""

    def __init__(self, files: RootedFiles, written: int) -> None:
        self._files, self._written = files, written
        self._unchanged: dict[str, bool] = {}

    def is_unchanged(self, path: str) -> bool:
        """Return True if a file exists, and was not written or moved after the coverage file."""
        if path not in self._unchanged:
            try:
                status = self._files.stat(path)
                newest = max(status.st_mtime_ns, status.st_ctime_ns)
            except HostError:
                newest = self._written + 1
            self._unchanged[path] = newest < self._written  # in one tick, either may be first
        return self._unchanged[path]

    def of_functions(
        self, own: Mapping[str, int], ran: Mapping[str, int]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the tests that ran a line of a function, by its key."""
        for key, mask in own.items():
            ids = {self._id(context) for context, lines in ran.items() if lines & mask}
            if ids := ids - {""}:
                yield key, tuple(sorted(ids))

    def _id(self, context: str) -> str:
        """Return the pytest ID of a context such as `tests/test_a.py::test_f[1]|run`, or ""."""
        name, _, phase = context.rpartition("|")
        name = name if phase in _PHASES else context
        if "::" in name:
            path, _, inner = name.partition("::")
            path, inner = path.rpartition("|")[2], inner.partition("[")[0]
        else:
            path, inner = self._split(name.rpartition("|")[2].split("."))
        return f"{path}::{inner}" if inner and self.is_unchanged(path) else ""

    def _split(self, names: list[str]) -> tuple[str, str]:
        """Return the file and the rest of a name such as `test_a.TestB.test_c`."""
        for end in range(len(names) - 1, 0, -1):
            found = self._modules.get(".".join(names[:end]), [])
            if len(found) == 1:
                return found[0], "::".join(names[end:])
        return "", ""

    @cached_property
    def _modules(self) -> dict[str, list[str]]:
        """The test files of the project by each end of their dotted names."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in filter(is_test_file, Members(self._files.root).sweep()):
            parts = path.removesuffix(".py").split("/")
            for begin in range(len(parts)):
                found[".".join(parts[begin:])].append(path)
        return found
