"""Runs of ruff on files in the tree, using the project's configuration."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command
from remora.tools.host.ruff.config_files import has_config_below
from remora.tools.host.ruff.finding import Finding, finding_of
from remora.tools.host.ruff.ruff_session import (
    MEMORY,
    RuffStoppedError,
    ruff_binary,
    ruff_session,
    session_of,
)
from remora.tools.host.ruff.shared_ruff import (
    OptionsOf,
    check_options,
    config_options,
    isolated_options,
    name_options,
    shared_ruff_for,
    sorting_options,
)
from remora.tools.tree import ToolTree

SECONDS = 30.0
_OUTPUT_LIMIT = 64 * 1024 * 1024
_CHECKED = (0, 1, 2)  # exit codes of `format --check`: formatted, unformatted, a syntax error
_AT_ONCE = 2000  # paths for one command line
_CHECK = ("check", "--no-cache", "--no-fix", "--quiet", "--exit-zero", "--output-format", "json")
_NAMES = ("F811", "F821", "F822", "F823")
"""Rules whose findings are errors when the code runs, or hide code: names are not defined, or twice."""
_SOURCES = (".py", ".pyi")
_GUTTER = re.compile(r"\s*(?:\d+\s*)?(?:\||\^)")


def ruff_check(
    place: ToolTree,
    paths: list[str],
    select: list[str] | None = None,
    unsafe: bool = False,
    preview: bool = False,
) -> list[Finding]:
    """Return the ruff findings in files and folders, sorted by path, line, column and code.

    Each finding has `code, message, path, line, column, end_line, end_column, fix`. Lines and
    columns start at 1, and columns are counted in characters. A syntax error has the code
    `invalid-syntax`. `fix` is null or has `applicability` (`safe`, `unsafe`, `display`), `message`
    and `edits`. Each edit has `line, column, end_line, end_column, content`. Unsafe fixes are
    included only if `unsafe` is True. `select` replaces the configured rules. If `preview` is True,
    rules and fixes are those of ruff's preview mode. Files that the configuration excludes have no
    findings.
    """
    rules = [*_rules(select), *(["--preview"] if preview else [])]
    ruff = _Ruff(place, reads_files=True)
    found: list[Finding] = []
    options_of = check_options if select is None else config_options
    for own, group in _grouped(ruff, paths, options_of):
        options = [*_CHECK, *rules, *own, "--force-exclude"]
        for start in range(0, len(group), _AT_ONCE):
            words = [*options, "--", *group[start : start + _AT_ONCE]]
            found += ruff.findings(words, unsafe=unsafe)
    known = {path: place.files.exists(path) for path in {each["path"] for each in found}}
    found = sorted((each for each in found if known[each["path"]]), key=_sort_key)
    if ruff.shared is not None and unsafe and select is None and not preview:
        ruff.shared.remember(_python_files(place, paths), found)
    return found


def check_file(place: ToolTree, path: str) -> list[Finding]:
    """Return the ruff findings in a file, including unsafe fixes, or an empty list without a file.

    Copies of a base share processes and results, because ruff gets the text, not the path.
    """
    if not path.endswith(_SOURCES):
        return ruff_check(place, [path], unsafe=True)
    if not place.files.exists(path):
        return []
    return check_text(place, path, place.files.read_bytes(path))


def check_text(
    place: ToolTree, path: str, content: bytes, preview: Sequence[str] = ()
) -> list[Finding]:
    """Return the ruff findings for `content` as if it were the content of the file at `path`.

    The file does not have to exist. If `preview` is given, only these rules are checked, and their
    fixes include those that ruff offers in preview mode.
    """
    ruff = _Ruff(place)
    known = ruff.shared.known_findings(path, content) if ruff.shared and not preview else None
    if known is not None:
        return known
    options = [*_CHECK, *ruff.options(path, config_options if preview else check_options)]
    options += ["--force-exclude", *([*_rules(list(preview)), "--preview"] if preview else [])]
    words = [*options, "--stdin-filename", ruff.full_path(path), "-"]
    return sorted(ruff.findings(words, content, unsafe=True), key=_sort_key)


def check_names(place: ToolTree, path: str, content: bytes) -> list[Finding]:
    """Return the undefined and redefined names in a version of the file at `path`.

    They are found whatever is selected, excluded or silenced, because they are wrong in any project.
    """
    ruff = _Ruff(place)
    words = [
        *_CHECK,
        "--ignore-noqa",
        "--select",
        ",".join(_NAMES),
        *ruff.options(path, name_options),
    ]
    found = ruff.findings(
        [*words, "--stdin-filename", ruff.full_path(path), "-"], content, unsafe=False
    )
    return [each for each in found if each["code"] in _NAMES]


def with_sorted_imports(place: ToolTree, path: str, content: bytes) -> bytes:
    """Return `content` with its imports sorted according to the project's configuration."""
    ruff = _Ruff(place)
    options = ["check", "--no-cache", "--quiet", "--exit-zero", "--fix-only", "--select", "I"]
    options += [*ruff.options(path, sorting_options), "--force-exclude"]
    return (
        ruff.run([*options, "--stdin-filename", ruff.full_path(path), "-"], content).stdout
        or content
    )


class FixedText(NamedTuple):
    """A text after fixes, and the findings that are left in it, or None if they are not known."""

    content: bytes
    left: list[Finding] | None


def fix_text(
    place: ToolTree,
    path: str,
    content: bytes,
    *,
    unsafe: bool = False,
    unfixable: Sequence[str] = (),
    fixable: Sequence[str] = (),
) -> FixedText:
    """Return `content` as `ruff check --fix` would leave it in the file at `path`.

    Rules in `unfixable` are not fixed. If `fixable` is given, no other rules
    are fixed.
    """
    ruff = _Ruff(place)
    every = not unfixable and not fixable
    options = ["check", "--no-cache", "--quiet", "--exit-zero"]
    options += ["--fix", "--output-format", "json"] if every else ["--fix-only"]
    options += ["--unsafe-fixes"] if unsafe else ["--no-unsafe-fixes"]
    options += ["--unfixable", ",".join(unfixable)] if unfixable else []
    options += ["--fixable", ",".join(fixable)] if fixable else []
    options += [
        *ruff.options(path, check_options),
        "--force-exclude",
        "--stdin-filename",
        ruff.full_path(path),
        "-",
    ]
    finished = ruff.run(options, content)
    left = None
    with suppress(HostError):  # a warning
        left = sorted(ruff.parsed(finished.stderr, unsafe=True), key=_sort_key) if every else None
    return FixedText(finished.stdout, left)


def is_formatted(
    place: ToolTree, path: str, content: bytes, options: Sequence[str] | None = None
) -> bool:
    """Return True if `ruff format` would not change `content`. Raises what `format_text` raises."""
    shared = _Ruff(place).shared
    known = shared.known_format(path, content) if shared is not None and options is None else None
    return format_text(place, path, content, options) == content if known is None else known


def find_formatted(tree: Path, paths: Sequence[str]) -> None:
    """Find out which files of a base are formatted, in one run for all of them.

    Later calls of `is_formatted` then need no run. Does nothing if ruff fails.
    """
    place = ToolTree(tree)
    ruff = _Ruff(place, reads_files=True)
    if ruff.shared is None:
        return
    with suppress(HostError):
        for own, group in _grouped(ruff, list(paths), config_options):
            options = ["format", "--check", "--no-cache", "--quiet", "--output-format", "json"]
            words = [*options, *own, "--force-exclude", "--", *group[:_AT_ONCE]]
            found = ruff.findings(words, unsafe=False, codes=_CHECKED)
            changed = {each["path"] for each in found}
            for path, content in _python_files(place, group[:_AT_ONCE]).items():
                ruff.shared.remember_format(path, content, is_formatted=path not in changed)


def format_text(
    place: ToolTree, path: str, content: bytes, options: Sequence[str] | None = None
) -> bytes:
    """Return `content` as `ruff format` would leave it in the file at `path`.

    If `options` is given, ruff's configuration in the tree is ignored. Raises HostError if the
    content does not parse.
    """
    ruff = _Ruff(place)
    own = ruff.options(path, config_options) if options is None else ruff.isolated_options()
    words = ["format", "--no-cache", "--quiet", *own, "--force-exclude", *(options or ())]
    return ruff.run([*words, "--stdin-filename", ruff.full_path(path), "-"], content).stdout


def _sort_key(finding: Finding) -> tuple[str, int, int, str]:
    return finding["path"], finding["line"], finding["column"], finding["code"]


def _rules(select: list[str] | None) -> list[str]:
    if select is None:
        return []
    for rule in select:
        if not (rule.isascii() and rule.isalnum()):
            raise HostError(f"{rule!r} is not a rule code; use e.g. F401 or F")
    return ["--select", ",".join(select)] if select else []


def _python_files(place: ToolTree, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of the Python files among some paths."""
    return {
        path: place.files.read_bytes(path)
        for path in paths
        if path.endswith(_SOURCES) and place.files.exists(path)
    }


def _grouped(
    ruff: "_Ruff", paths: list[str], options_of: OptionsOf
) -> list[tuple[list[str], list[str]]]:
    """Group the paths to check by the options that they need."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        ruff.place.left()
        for each in _expanded(ruff, path, options_of):
            groups.setdefault(tuple(ruff.options(each, options_of)), []).append(each)
    return [(list(own), group) for own, group in groups.items()]


def _expanded(ruff: "_Ruff", path: str, options_of: OptionsOf) -> Sequence[str]:
    """Return the paths to check for a file or folder.

    A folder is replaced with its Python files if its subfolders need other options.
    """
    place = ruff.place
    folder = "" if path.rstrip("/") == "." else path.rstrip("/")
    if folder and place.files.exists(path):
        return [path]
    if not folder or place.files.is_folder(path):
        return _folder_arguments(ruff, folder, options_of)
    place.files.stat(path)  # raises if it cannot be read
    return []


def _folder_arguments(ruff: "_Ruff", folder: str, options_of: OptionsOf) -> Sequence[str]:
    place, whole = ruff.place, f"{folder}/." if folder else "."
    nested = has_config_below(place, folder)
    if not nested or not ruff.options(whole, options_of):
        return [whole]
    prefix = f"{folder}/" if folder else ""
    kinds = (f"{prefix}**/*.py", f"{prefix}**/*.pyi")
    return sorted(path for kind in kinds for path in place.files.glob(kind, look=place.left))


class _Ruff:
    """Runs ruff for a tree. Copies of a base share processes and results, if there are any.

    Shared processes read the files of the base, not those of a copy.
    """

    def __init__(self, place: ToolTree, *, reads_files: bool = False) -> None:
        self.place = place
        shared = shared_ruff_for(place)
        is_base = shared is not None and shared.tree.tree == place.tree
        self.shared = shared if is_base or not reads_files else None
        self._tree = place if self.shared is None else self.shared.tree

    def options(self, path: str, options_of: OptionsOf) -> list[str]:
        """Return the options for a file or folder, computed once for each folder of a base."""
        if self.shared is not None:
            return self.shared.options(path, options_of)
        return options_of(self.place, path)

    def full_path(self, path: str) -> str:
        """Return the absolute path of a file. With a relative one, ruff finds no project root."""
        return f"{self._tree.seen}/{path}"

    def isolated_options(self) -> list[str]:
        """Return the options with which ruff uses no configuration."""
        return isolated_options(self._tree)

    def findings(
        self,
        words: list[str],
        stdin: bytes = b"",
        *,
        unsafe: bool,
        codes: Sequence[int] = (0,),
    ) -> list[Finding]:
        return self.parsed(self.run(words, stdin, codes).stdout, unsafe=unsafe)

    def parsed(self, output: bytes, *, unsafe: bool) -> list[Finding]:
        """Return the findings in ruff's output."""
        try:
            raw = msgspec.json.decode(output or b"[]")
        except msgspec.DecodeError:
            raise HostError("ruff's output is not valid JSON") from None
        return [finding_of(item, self._tree.seen, unsafe=unsafe) for item in raw]

    def run(
        self, words: list[str], stdin: bytes = b"", codes: Sequence[int] = (0,)
    ) -> ProcessResult:
        """Run ruff. Raises HostError if its exit code is not one of `codes`."""
        place, binary = self.place, ruff_binary()
        seconds = min(SECONDS, place.left())
        session = self.shared or session_of(place)
        if session is not None:
            finished = session.run((str(binary), *words), stdin, seconds)
        else:
            command = Command(
                argv=(str(binary), *words),
                folder=place.tree,
                seconds=seconds,
                confinement=Confinement(read=(place.tree, binary)),
                memory=MEMORY,
            )
            finished = run_command(command, output_limit=_OUTPUT_LIMIT, stdin=stdin)
        place.note_isolation(finished.isolation)
        place.left()
        if finished.timed_out:
            raise RuffStoppedError(f"ruff did not finish within {seconds:.3g} seconds")
        if finished.returncode < 0:
            raise RuffStoppedError(
                f"ruff crashed or needed more than {MEMORY >> 20:,} MiB of memory"
            )
        if finished.truncated:
            raise RuffStoppedError("ruff's output is too large; check fewer files at once")
        if finished.returncode not in codes:
            raise HostError(f"ruff failed: {_failure(finished, self._tree)}")
        return finished


def _failure(finished: ProcessResult, place: ToolTree) -> str:
    """Return ruff's message as one line, without the quoted lines of a configuration file."""
    lines = finished.stderr.decode("utf-8", "replace").replace(f"{place.seen}/", "").split("\n")
    texts = [line.strip().removeprefix("Cause: ") for line in lines if not _GUTTER.match(line)]
    message = "; ".join(filter(None, texts))
    return message.removeprefix("ruff failed; ")[:300] or str(finished.returncode)


def one_process(place: ToolTree) -> AbstractContextManager[None]:
    """Run ruff in few sandboxed processes in the block, which is faster for many runs.

    The configuration and the names of the tree's files must not change in the block.
    """
    shared = shared_ruff_for(place)
    return ruff_session(place) if shared is None else shared.used(place.tree, lambda: True)


def lint_findings(
    tree: Path, paths: list[str], preview: Sequence[str] = (), *, seconds: float = inf
) -> list[dict[str, Any]]:
    """Return the ruff findings in files of a tree, including unsafe fixes.

    If `preview` is given, only these rules are checked, and their fixes include those that ruff
    offers in preview mode. Raises RuffStoppedError if ruff crashes or does not finish, and
    HostError if it fails in another way.
    """
    place = ToolTree(tree)
    with place.within(seconds):
        if preview:
            return ruff_check(place, paths, list(preview), unsafe=True, preview=True)
        return ruff_check(place, paths, unsafe=True)
