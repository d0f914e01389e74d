"""Runs of ruff on the files of a tree, using the project's configuration."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.config_files import has_config_below
from remora.tools.host.ruff.finding import Finding, finding_of
from remora.tools.host.ruff.options import OptionsOf, RuffOptions, T
from remora.tools.host.ruff.processes import MEMORY, RuffStoppedError, ruff_binary
from remora.tools.host.ruff.ruff_base import RuffBase

SECONDS = 30.0
_OUTPUT_LIMIT = 64 * 1024 * 1024
_CHECKED = (0, 1, 2)  # exit codes of `format --check`: formatted, unformatted, a syntax error
_AT_ONCE = 2000  # paths for one command line
_CHECK = ("check", "--no-cache", "--no-fix", "--quiet", "--exit-zero", "--output-format", "json")
_FIX = ("check", "--no-cache", "--quiet", "--exit-zero", "--fix-only", "--force-exclude")
_NAMES = ("F811", "F821", "F822", "F823")
"""Rules whose findings are errors when the code runs, or hide code: names are not defined, or twice."""
_SOURCES = (".py", ".pyi")
_GUTTER = re.compile(r"\s*(?:\d+\s*)?(?:\||\^)")


MakeRuff = Callable[[FileTree], "Ruff"]
"""Returns the object that runs ruff for a tree."""


class Ruff:
    """Runs ruff for a tree, within the time limit of the tree.

    A copy of a `base` shares its processes and results while `is_like_base` returns True, which
    means that it has the base's files and configuration. `selected` contains the rules that the user
    selects, if there is no base.
    """

    def __init__(
        self,
        files: FileTree,
        base: RuffBase | None = None,
        is_like_base: Callable[[], bool] = lambda: True,
        selected: Sequence[str] = (),
    ) -> None:
        self._files = files
        self._base = base
        self._is_like_base = is_like_base
        self._own = RuffOptions(files, selected if base is None else base.options.selected)

    @property
    def selected(self) -> Sequence[str]:
        """The rules that the user selects."""
        return self._own.selected

    @property
    def options(self) -> RuffOptions:
        """The options for the tree, which are computed once for all copies of a base."""
        base = self._shared()
        return self._own if base is None else base.options

    @contextmanager
    def one_process(self) -> Iterator[None]:
        """Run ruff in few sandboxed processes in the block, which is faster for many runs.

        The configuration and the names of the tree's files must not change in the block.
        """
        before, shared = (self._base, self._is_like_base), self._shared()
        self._base = shared or RuffBase(self._files.tree, self.selected)
        self._is_like_base = lambda: True
        try:
            yield
        finally:
            if shared is None:
                self._base.close()
            self._base, self._is_like_base = before

    def check(
        self,
        paths: list[str],
        select: list[str] | None = None,
        *,
        unsafe: bool = False,
        preview: bool = False,
    ) -> list[Finding]:
        """Return the ruff findings in files and folders, as the host function `ruff_check` does.

        `select` replaces the configured rules. Unsafe fixes are included only if `unsafe` is True.
        """
        rules = [*_rules(select), *(["--preview"] if preview else [])]
        run = self._runner(reads_files=True)
        found: list[Finding] = []
        options_of = run.options.check if select is None else run.options.config
        for own, group in _grouped(self._files, paths, options_of):
            options = [*_CHECK, *rules, *own, "--force-exclude"]
            for start in range(0, len(group), _AT_ONCE):
                words = [*options, "--", *group[start : start + _AT_ONCE]]
                found += run.findings(words, unsafe=unsafe)
        known = {path: self._files.files.exists(path) for path in {item["path"] for item in found}}
        found = sorted((item for item in found if known[item["path"]]), key=_sort_key)
        if run.base is not None and unsafe and select is None and not preview:
            run.base.remember(_python_files(self._files, paths), found)
        return found

    def check_file(self, path: str) -> list[Finding]:
        """Return the ruff findings in a file, with unsafe fixes, or an empty list without a file.

        Copies of a base share processes and results, because ruff gets the text, not the path.
        """
        if not path.endswith(_SOURCES):
            return self.check([path], unsafe=True)
        if not self._files.files.exists(path):
            return []
        return self.check_text(path, self._files.files.read_bytes(path))

    def check_text(self, path: str, content: bytes, more: Sequence[str] = ()) -> list[Finding]:
        """Return the ruff findings for `content` as if it were the content of the file at `path`.

        The file does not have to exist. `more` contains further options of ruff.
        """
        run = self._runner()
        known = run.base.known("findings", path, content) if run.base and not more else None
        if known is not None:
            return [*known]
        words = [*_CHECK, *run.options.check(path), *more, "--force-exclude", *run.stdin_as(path)]
        return sorted(run.findings(words, content, unsafe=True), key=_sort_key)

    def check_names(self, path: str, content: bytes) -> list[Finding]:
        """Return the undefined and redefined names in a version of the file at `path`.

        They are found whatever is selected, excluded or silenced, because they are wrong in any
        project.
        """
        run = self._runner()
        words = [*_CHECK, "--ignore-noqa", "--select", ",".join(_NAMES), *run.options.names(path)]
        found = run.findings([*words, *run.stdin_as(path)], content, unsafe=False)
        return [finding for finding in found if finding["code"] in _NAMES]

    def syntax_errors(self, paths: Sequence[str], minor: int) -> list[Finding]:
        """Return what Python 3.`minor` cannot parse in files, whatever is selected or excluded."""
        version = ["--isolated", "--target-version", f"py3{minor}", "--select", "E9"]
        run, found = self._runner(reads_files=True), list[Finding]()
        for start in range(0, len(paths), _AT_ONCE):
            words = [*_CHECK, *version, "--", *paths[start : start + _AT_ONCE]]
            found += run.findings(words, unsafe=False)
        return found

    def with_sorted_imports(self, path: str, content: bytes) -> bytes:
        """Return `content` with its imports sorted according to the project's configuration."""
        run = self._runner()
        words = [*_FIX, "--select", "I", *run.options.sorting(path), *run.stdin_as(path)]
        return run.run(words, content).stdout or content

    def fix_text(
        self, path: str, content: bytes, fixable: Sequence[str], *, unsafe: bool = False
    ) -> bytes:
        """Return `content` as `ruff check --fix` would leave it, if it fixed only some rules."""
        run = self._runner()
        safety = "--unsafe-fixes" if unsafe else "--no-unsafe-fixes"
        words = [*_FIX, safety, "--fixable", ",".join(fixable)]
        return run.run([*words, *run.options.check(path), *run.stdin_as(path)], content).stdout

    def is_formatted(self, path: str, content: bytes, options: Sequence[str] | None) -> bool:
        """Return True if `ruff format` would not change `content`.

        Raises what `format_text` raises.
        """
        base = self._shared() if options is None else None
        known = base.known("format", path, content) if base is not None else None
        return self.format_text(path, content, options) == content if known is None else known

    def once_for(self, what: str, path: str, content: bytes, compute: Callable[[], T]) -> T:
        """Return what a function computes about a version of a file, once for copies of a base."""
        base = self._shared()
        known: T | None = base.known(what, path, content) if base is not None else None
        if known is None:
            known = compute()
            if base is not None:
                base.keep(what, path, content, known)
        return known

    def find_formatted(self, paths: Sequence[str]) -> None:
        """Find out which files of a base are formatted, in one run for all of them.

        Later calls of `is_formatted` then need no run. Does nothing if ruff fails. Of very many
        files, those after the first `_AT_ONCE` with the same options still need a run each.
        """
        run = self._runner(reads_files=True)
        if run.base is None:
            return
        with suppress(HostError):
            for own, group in _grouped(self._files, list(paths), run.options.config):
                options = ["format", "--check", "--no-cache", "--quiet", "--output-format", "json"]
                words = [*options, *own, "--force-exclude", "--", *group[:_AT_ONCE]]
                found = run.findings(words, unsafe=False, codes=_CHECKED)
                changed = {finding["path"] for finding in found}
                for path, content in _python_files(self._files, group[:_AT_ONCE]).items():
                    run.base.keep("format", path, content, path not in changed)

    def format_text(self, path: str, content: bytes, options: Sequence[str] | None = None) -> bytes:
        """Return `content` as `ruff format` would leave it in the file at `path`.

        If `options` is given, ruff's configuration in the tree is ignored. Raises HostError if the
        content does not parse.
        """
        run = self._runner()
        own = run.options.config(path) if options is None else run.options.isolated()
        words = ["format", "--no-cache", "--quiet", *own, "--force-exclude", *(options or ())]
        return run.run([*words, *run.stdin_as(path)], content).stdout

    def _shared(self) -> RuffBase | None:
        """Return the base, if runs for it are valid for this tree."""
        return self._base if self._base is not None and self._is_like_base() else None

    def _runner(self, *, reads_files: bool = False) -> "_Runner":
        """Return what runs a command: processes of the base read its files, not those of a copy."""
        base = self._shared()
        if base is not None and reads_files and base.options.files.tree != self._files.tree:
            base = None
        return _Runner(self._files, base, self._own)


def _sort_key(finding: Finding) -> tuple[str, int, int, str]:
    return finding["path"], finding["line"], finding["column"], finding["code"]


def _rules(select: list[str] | None) -> list[str]:
    for rule in select or ():
        if not (rule.isascii() and rule.isalnum()):
            raise HostError(f"{rule!r} is not a rule code; use e.g. F401 or F")
    return ["--select", ",".join(select)] if select else []


def _python_files(files: FileTree, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of the Python files among some paths."""
    return {
        path: files.files.read_bytes(path)
        for path in paths
        if path.endswith(_SOURCES) and files.files.exists(path)
    }


def _grouped(
    files: FileTree, paths: list[str], options_of: OptionsOf
) -> list[tuple[list[str], list[str]]]:
    """Group the paths to check by the options that they need."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        files.left()
        for inner in _expanded(files, path, options_of):
            groups.setdefault(tuple(options_of(inner)), []).append(inner)
    return [(list(own), group) for own, group in groups.items()]


def _expanded(files: FileTree, path: str, options_of: OptionsOf) -> Sequence[str]:
    """Return the paths to check for a file or folder.

    A folder is replaced with its Python files if its subfolders need other options.
    """
    folder = "" if path.rstrip("/") == "." else path.rstrip("/")
    if folder and files.files.exists(path):
        return [path]
    if not folder or files.files.is_folder(path):
        return _folder_arguments(files, folder, options_of)
    files.files.stat(path)  # raises if it cannot be read
    return []


def _folder_arguments(files: FileTree, folder: str, options_of: OptionsOf) -> Sequence[str]:
    whole = f"{folder}/." if folder else "."
    nested = has_config_below(files, folder)
    if not nested or not options_of(whole):
        return [whole]
    prefix = f"{folder}/" if folder else ""
    kinds = (f"{prefix}**/*.py", f"{prefix}**/*.pyi")
    return sorted(path for kind in kinds for path in files.files.glob(kind, look=files.left))


class _Runner:
    """Runs commands, in the processes of a base if there is one."""

    def __init__(self, files: FileTree, base: RuffBase | None, own: RuffOptions) -> None:
        self.base = base
        self.options = own if base is None else base.options
        self._files = files
        self._seen = self.options.files.seen

    def stdin_as(self, path: str) -> list[str]:
        """Return options to read a file from stdin. With a relative path, ruff finds no root."""
        return ["--stdin-filename", f"{self._seen}/{path}", "-"]

    def findings(
        self,
        words: list[str],
        stdin: bytes = b"",
        *,
        unsafe: bool,
        codes: Sequence[int] = (0,),
    ) -> list[Finding]:
        try:
            raw = msgspec.json.decode(self.run(words, stdin, codes).stdout or b"[]")
        except msgspec.DecodeError:
            raise HostError("ruff's output is not valid JSON") from None
        return [finding_of(item, self._seen, unsafe=unsafe) for item in raw]

    def run(self, words: list[str], stdin: bytes, codes: Sequence[int] = (0,)) -> ProcessResult:
        """Run ruff. Raises HostError if its exit code is not one of `codes`."""
        files, binary = self._files, ruff_binary()
        seconds = min(SECONDS, files.left())
        if self.base is not None:
            finished = self.base.run((str(binary), *words), stdin, seconds)
        else:
            command = Command(
                argv=(str(binary), *words),
                folder=files.tree,
                seconds=seconds,
                confinement=Confinement(read=(files.tree, binary)),
                memory=MEMORY,
            )
            finished = run_command(command, output_limit=_OUTPUT_LIMIT, stdin=stdin)
        files.note_isolation(finished.isolation)
        files.left()
        if finished.timed_out:
            raise RuffStoppedError(f"ruff did not finish within {seconds:.3g} seconds")
        if finished.returncode < 0:
            raise RuffStoppedError(
                f"ruff crashed or needed more than {MEMORY >> 20:,} MiB of memory"
            )
        if finished.truncated:
            raise RuffStoppedError("ruff's output is too large; check fewer files at once")
        if finished.returncode not in codes:
            raise HostError(f"ruff failed: {_failure(finished, self._seen)}")
        return finished


def _failure(finished: ProcessResult, seen: Path) -> str:
    """Return ruff's message as one line, without the quoted lines of a configuration file."""
    lines = finished.stderr.decode("utf-8", "replace").replace(f"{seen}/", "").split("\n")
    texts = [line.strip().removeprefix("Cause: ") for line in lines if not _GUTTER.match(line)]
    message = "; ".join(filter(None, texts))
    return message.removeprefix("ruff failed; ")[:300] or str(finished.returncode)
