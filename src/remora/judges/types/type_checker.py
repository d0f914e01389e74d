"""Runs of ty on a private copy of a project's Python files."""

import functools
import re
import shutil
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import msgspec

from remora.code.edit.text_lines import split_lines
from remora.errors import HostError
from remora.rmtree import temporary_folder
from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
from remora.tools.host.declared_type_checker import Diagnostic
from remora.tools.kept_answers import KeptAnswers
from remora.workspaces.apply.line_diff import Hunk, diff_hunks
from remora.workspaces.rooted_files import RootedFiles

SECONDS = 120.0
LOOKING_SECONDS = 20.0
"""Limit of ty while files on which it fails are looked for. It checks most projects in two."""
MOST_LEFT_OUT = 10
_WRONG_SETTINGS = 2
"""The exit status of ty if it cannot start."""
_DEFAULTS = "remora-ty.toml"
"""An empty file of settings, in place of those of the project that ty refuses."""
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t](.*)", re.MULTILINE)
_WORD = re.compile(r"\w+")
_JSON = msgspec.json.Encoder()
_OUTPUT_LIMIT = 256 * 1024 * 1024
_OLDEST, _NEWEST = 7, 14

Answer = TypeVar("Answer")


class _FailedError(HostError):
    """Raised if ty crashes or does not finish."""


class TypeChecker:
    """A copy of a project's Python files in a private folder, and ty to check it.

    If ty fails on some files, they are in `left_out`, and ty sees them empty.

    `files` contains the text of each Python file by its path, and `settings` the content of
    configuration files. The copy is removed by `close`, or with this object.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        settings: Mapping[str, bytes],
        *,
        minor: int | None,
    ) -> None:
        own = ExitStack()
        root = own.enter_context(temporary_folder("types-"))
        self.close = weakref.finalize(self, own.close)
        self.folder, self._no_packages = root / "project", root / "packages"
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        (self._no_packages / f"lib/python{version}/site-packages").mkdir(parents=True)
        (self._no_packages / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
        self.folder.mkdir()
        self._files = dict(files)
        self._changed: dict[str, str] = {}
        self._settings = dict(settings)
        self.python: Path | None = None
        """The project's interpreter, whose packages ty reads without running them."""
        self.kept: KeptAnswers | None = None
        """Cache of answers, or None."""
        self._minor = minor
        self.left_out: frozenset[str] = frozenset()
        self._threads: dict[str, str] = {}
        self.refuses_settings = False
        """True if ty refuses the project's settings, such as those of another version of ty."""
        self.runs = 0
        """Number of runs of ty."""
        self.left: Callable[[], float] = lambda: SECONDS
        """Returns the seconds left, or raises HostError if there are none."""
        for path, text in files.items():
            RootedFiles(self.folder).create(path, text.encode())
        for path, content in settings.items():
            RootedFiles(self.folder).put(path, content)

    def check(self, changed: Mapping[str, str]) -> list[Diagnostic]:
        """Return the diagnostics of the project with other texts of some files.

        Raises HostError if ty fails or does not finish within its time limit, even without the few
        files on which it fails.
        """
        self._change({**changed, **dict.fromkeys(self.left_out, "")})
        question = f"ty {version('ty')} 3.{self._minor}"
        try:
            return _diagnostics(self._answer(question, lambda: self._ask_ty(SECONDS)))
        except _FailedError:
            return _diagnostics(self._look_for_failing(changed))

    def _look_for_failing(self, changed: Mapping[str, str]) -> bytes:
        """Return ty's output without the files on which it fails, and add them to `left_out`.

        Starting with empty files, groups of files get their text, and groups with which ty fails
        are divided. With several threads, ty fails on other files each time.
        """
        self._threads = {"TY_MAX_PARALLELISM": "1"}
        empty, failing = set(self._files), set(self.left_out)
        groups = [_by_imports(self._files, self._files.keys() - failing)]
        self._change(dict.fromkeys(empty, ""))
        output = self._ask_ty(LOOKING_SECONDS)
        while groups:
            group = groups.pop()
            self._change({**changed, **dict.fromkeys(empty.difference(group), "")})
            try:
                output = self._ask_ty(LOOKING_SECONDS)
                empty.difference_update(group)
            except _FailedError:
                half = len(group) // 2
                groups += [group[half:], group[:half]] if half else []
                failing.update(group if not half else ())
                if len(failing) > MOST_LEFT_OUT:
                    raise
        self._change({**changed, **dict.fromkeys(failing, "")})
        self.left_out = frozenset(failing)
        return output

    def ask(
        self,
        work: Callable[[Path, float], Answer],
        changed: Mapping[str, str],
        question: str,
        kind: type[Answer],
    ) -> Answer:
        """Return what `work` says of the project, given the folder and the seconds left.

        `question` says what it is asked, and `kind` is the type of answers, which are kept as JSON.
        """
        self._change(changed)
        answer = self._answer(question, lambda: _JSON.encode(work(self.folder, self.left())))
        return msgspec.json.decode(answer, type=kind)

    def _answer(self, question: str, ask: Callable[[], bytes]) -> bytes:
        """Return the answer to a question about the current files, kept or new."""
        if self.kept is None:
            return ask()
        files = {**self._files, **self._changed}
        packages = [] if self.python is None else site_packages(self.python)
        state = [question, sorted(files.items()), sorted(self._settings.items()), packages]
        return self.kept.answer(_JSON.encode(state), ask)

    def _change(self, changed: Mapping[str, str]) -> None:
        now = {path: text for path, text in changed.items() if self._files.get(path) != text}
        for path in self._changed.keys() - now.keys():
            self._write(path, self._files[path])
        for path, text in now.items():
            if self._changed.get(path) != text:
                self._write(path, text)
        self._changed = now

    def _write(self, path: str, text: str) -> None:
        # the project's code may have replaced files by links, which below isolation level 2 remain
        RootedFiles(self.folder).put(path, text.encode())

    def _ask_ty(self, seconds: float) -> bytes:
        self.runs += 1
        paths = (
            interpreter_paths(self.python, trusted=False) if self.python else [self._no_packages]
        )
        words = ["check", "--exit-zero", "--output-format", "gitlab", "--no-progress"]
        words += ["--project", ".", *self._environment()]
        words += [f"--config-file={_DEFAULTS}"] if self.refuses_settings else []
        left, program = self.left(), program_of("ty")
        command = Command(
            argv=(program, *words),
            folder=self.folder,
            seconds=min(seconds, left),
            confinement=Confinement(read=(self.folder, Path(program), *paths)),
            environment=self._threads,
        )
        finished = run_command(command, output_limit=_OUTPUT_LIMIT)
        if finished.timed_out:
            kind = _FailedError if seconds <= left else HostError
            raise kind(f"ty did not finish within {command.seconds:.3g} seconds")
        finished.require_whole_output("ty")
        if finished.returncode == _WRONG_SETTINGS and not self.refuses_settings:
            self.refuses_settings = True
            RootedFiles(self.folder).put(_DEFAULTS, b"")
            return self._ask_ty(seconds)
        if finished.returncode != 0:
            message = " ".join(finished.stderr.decode("utf-8", "replace").split())[:500]
            kind = HostError if finished.returncode == _WRONG_SETTINGS else _FailedError
            raise kind(f"ty failed: {message or finished.returncode}")
        return finished.stdout

    def _environment(self) -> list[str]:
        # without an environment, ty would read the packages that are installed beside it
        words = ["--python", str(self.python or self._no_packages)]
        return words if self._minor is None else [*words, "--python-version", f"3.{self.minor}"]

    @property
    def minor(self) -> int:
        """The minor version of Python that programs are told, as near as they know it."""
        return min(max(self._minor or _OLDEST, _OLDEST), _NEWEST)


@functools.cache
def program_of(package: str) -> str:
    """Return the path of a program, installed beside this interpreter or on the search path."""
    beside = Path(sys.executable).parent / package
    found = str(beside) if beside.is_file() else shutil.which(package)
    if found is None:
        raise HostError(f"the program of the {package} package was not found")
    return found


def new_diagnostics(before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics of `after` that `before` does not have.

    Diagnostics are compared by path, rule and line. Lines must not have moved. Of several on a
    line, those with another message are the new ones.
    """
    before = list(before)
    known = Counter((old.path, old.rule, old.line) for old in before)
    said = {(old.path, old.line, old.message) for old in before}
    found = []
    for new in sorted(after, key=lambda new: (new.path, new.line, new.message) not in said):
        key = (new.path, new.rule, new.line)
        known[key] -= 1
        if known[key] < 0:
            found.append(new)
    return found


def line_map(before: str, after: str) -> dict[int, int]:
    """Map the lines of a text to the lines of an earlier text that they replace."""
    old, new = ([line.encode() for line in split_lines(text)] for text in (before, after))
    found: dict[int, int] = {}
    moved = 0
    for hunk in [*diff_hunks(old, new), Hunk(len(old), len(old), ())]:
        first, last = hunk.start + moved, max(hunk.end, hunk.start + 1)
        found |= {line: line - moved for line in range(len(found) + 1, first + 1)}
        for offset in range(1, len(hunk.lines) + 1):
            found[first + offset] = min(hunk.start + offset, last)
        moved += len(hunk.lines) - (hunk.end - hunk.start)
    return found


def _by_imports(files: Mapping[str, str], paths: Iterable[str]) -> list[str]:
    """Return paths in order, those that most files import last.

    ty may fail on a file only because of another one that it imports. The other one is better left
    out than all that import it.
    """
    lines = ({*_WORD.findall(" ".join(_IMPORT.findall(text)))} for text in files.values())
    names = Counter(word for words in lines for word in words)
    return sorted(paths, key=lambda path: (names[Path(path).stem], path))


def site_packages(python: Path) -> list[tuple[str, int]]:
    """Return the folders of packages of an environment, and when packages were last installed."""
    found = python.parent.parent.glob("lib*/python3*/site-packages")
    return [(str(folder), folder.stat().st_mtime_ns) for folder in sorted(found)]


def _diagnostics(output: bytes) -> list[Diagnostic]:
    found = []
    try:
        for item in msgspec.json.decode(output or b"[]"):
            place, rule = item["location"], item["check_name"]
            begin = place["positions"]["begin"]
            message = item["description"].partition(": ")[2]
            found.append(Diagnostic(place["path"], rule, begin["line"], begin["column"], message))
    except (msgspec.DecodeError, KeyError, TypeError):
        raise HostError("ty's output is not valid JSON") from None
    return found
