"""Runs of ruff on files in the tree, using the project's configuration."""

import functools
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from remora.errors import HostError
from remora.sandbox.confinement import Confinement
from remora.sandbox.process import ProcessResult, run_command
from remora.sandbox.supervisor_client import Command
from remora.tools.host.ruff.config_files import has_config_below, is_configured, target_version
from remora.tools.host.ruff.ruff_session import ruff_session, session_of
from remora.tools.tree import ToolTree

Finding = dict[str, Any]

SECONDS = 30.0
_OUTPUT_LIMIT = 64 * 1024 * 1024
_AT_ONCE = 2000  # paths for one command line
_CHECK = ("check", "--no-cache", "--no-fix", "--quiet", "--exit-zero", "--output-format", "json")
_NO_CODE = "invalid-syntax"


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
    found: list[Finding] = []
    for isolated, group in _grouped(place, paths):
        options = [*_CHECK, *rules, *_source_of_rules(place, isolated=isolated), "--force-exclude"]
        for start in range(0, len(group), _AT_ONCE):
            finished = _ruff(place, [*options, "--", *group[start : start + _AT_ONCE]])
            found += _findings(place, finished, unsafe=unsafe)
    known = {path: place.files.exists(path) for path in {each["path"] for each in found}}
    return sorted((each for each in found if known[each["path"]]), key=_sort_key)


def check_text(
    place: ToolTree, path: str, content: bytes, preview: Sequence[str] = ()
) -> list[Finding]:
    """Return the ruff findings for `content` as if it were the content of the file at `path`.

    The file does not have to exist. If `preview` is given, only these rules are checked, and their
    fixes include those that ruff offers in preview mode.
    """
    isolated = not is_configured(place, path)
    options = [*_CHECK, *_source_of_rules(place, isolated=isolated), "--force-exclude"]
    if preview:
        options += [*_rules(list(preview)), "--preview"]
    finished = _ruff(place, [*options, "--stdin-filename", path, "-"], content)
    return sorted(_findings(place, finished, unsafe=True), key=_sort_key)


def with_sorted_imports(place: ToolTree, path: str, content: bytes) -> bytes:
    """Return `content` with its imports sorted according to the project's configuration."""
    isolated = not is_configured(place, path)
    options = ["check", "--no-cache", "--quiet", "--exit-zero", "--fix-only", "--select", "I"]
    options += [*_source_of_rules(place, isolated=isolated), "--force-exclude"]
    return _ruff(place, [*options, "--stdin-filename", path, "-"], content).stdout or content


def fix_text(
    place: ToolTree,
    path: str,
    content: bytes,
    *,
    unsafe: bool = False,
    unfixable: Sequence[str] = (),
    fixable: Sequence[str] = (),
) -> bytes:
    """Return `content` as `ruff check --fix` would leave it in the file at `path`.

    Rules in `unfixable` are not fixed. If `fixable` is given, no other rules are fixed.
    """
    isolated = not is_configured(place, path)
    options = ["check", "--no-cache", "--quiet", "--exit-zero", "--fix-only"]
    options += ["--unsafe-fixes"] if unsafe else ["--no-unsafe-fixes"]
    options += ["--unfixable", ",".join(unfixable)] if unfixable else []
    options += ["--fixable", ",".join(fixable)] if fixable else []
    options += [*_source_of_rules(place, isolated=isolated), "--force-exclude"]
    return _ruff(place, [*options, "--stdin-filename", path, "-"], content).stdout


def format_text(
    place: ToolTree, path: str, content: bytes, options: Sequence[str] | None = None
) -> bytes:
    """Return `content` as `ruff format` would leave it in the file at `path`.

    If `options` is given, ruff's configuration in the tree is ignored. Raises HostError if the
    content does not parse.
    """
    isolated = options is not None or not is_configured(place, path)
    words = ["format", "--no-cache", "--quiet", *_source_of_rules(place, isolated=isolated)]
    words += ["--force-exclude", *(options or ()), "--stdin-filename", path, "-"]
    return _ruff(place, words, content).stdout


def _sort_key(finding: Finding) -> tuple[str, int, int, str]:
    return finding["path"], finding["line"], finding["column"], finding["code"]


def _rules(select: list[str] | None) -> list[str]:
    if select is None:
        return []
    for rule in select:
        if not (rule.isascii() and rule.isalnum()):
            raise HostError(f"{rule!r} is not a rule code; use e.g. F401 or F")
    return ["--select", ",".join(select)] if select else []


def _source_of_rules(place: ToolTree, *, isolated: bool) -> list[str]:
    # if the project has no configuration, ruff would use one above the root
    return ["--isolated", *target_version(place)] if isolated else []


def _grouped(place: ToolTree, paths: list[str]) -> list[tuple[bool, list[str]]]:
    """Group the paths to check by whether the tree contains a configuration for them.

    The first item of each group is True if there is no such configuration.
    """
    groups: dict[bool, list[str]] = {False: [], True: []}
    configured: dict[str, bool] = {}
    for path in paths:
        place.left()
        for each in _expanded(place, path):
            folder = each.rpartition("/")[0]
            if folder not in configured:
                configured[folder] = is_configured(place, each)
            groups[not configured[folder]].append(each)
    return [(isolated, group) for isolated, group in groups.items() if group]


def _expanded(place: ToolTree, path: str) -> Sequence[str]:
    """Return the paths to check for a file or folder.

    A folder is replaced with its Python files if only its subfolders have settings.
    """
    if path.rstrip("/") in ("", "."):
        return _folder_arguments(place, "")
    if place.files.exists(path):
        return [path]
    if place.files.is_folder(path):
        return _folder_arguments(place, path.rstrip("/"))
    place.files.stat(path)  # raises if it cannot be read
    return []


def _folder_arguments(place: ToolTree, folder: str) -> Sequence[str]:
    nested = has_config_below(place, folder)
    if is_configured(place, folder) or not nested:
        return [f"{folder}/." if folder else "."]
    prefix = f"{folder}/" if folder else ""
    kinds = (f"{prefix}**/*.py", f"{prefix}**/*.pyi")
    return sorted(path for kind in kinds for path in place.files.glob(kind, look=place.left))


def _ruff(place: ToolTree, words: list[str], stdin: bytes = b"") -> ProcessResult:
    seconds = min(SECONDS, place.left())
    session = session_of(place)
    if session is not None:
        finished = session.run((_binary(), *words), stdin, seconds)
    else:
        command = Command(
            argv=(_binary(), *words),
            folder=place.tree,
            seconds=seconds,
            confinement=Confinement(read=(place.tree, Path(_binary()))),
        )
        finished = run_command(command, output_limit=_OUTPUT_LIMIT, stdin=stdin)
    place.note_isolation(finished.isolation)
    place.left()
    if finished.timed_out:
        raise HostError(f"ruff did not finish within {SECONDS} seconds")
    if finished.truncated:
        raise HostError("ruff's output is too large; check fewer files at once")
    if finished.returncode != 0:
        lines = finished.stderr.decode("utf-8", "replace").replace(f"{place.seen}/", "").split("\n")
        message = "; ".join(line.strip() for line in lines if line.strip())
        message = message.removeprefix("ruff failed; ")
        raise HostError(f"ruff failed: {message[:300] or finished.returncode}")
    return finished


def one_process(place: ToolTree) -> AbstractContextManager[None]:
    """Run ruff in a single sandboxed process in the block, which is faster for many runs."""
    return ruff_session(place, Path(_binary()))


@functools.cache
def _binary() -> str:
    return str(find_ruff_bin())


def _findings(place: ToolTree, finished: ProcessResult, *, unsafe: bool) -> list[Finding]:
    try:
        raw = msgspec.json.decode(finished.stdout or b"[]")
    except msgspec.DecodeError:
        raise HostError("ruff's output is not valid JSON") from None
    return [_finding(item, place.seen, unsafe=unsafe) for item in raw]


def _finding(item: dict[str, Any], root: Path, *, unsafe: bool) -> Finding:
    return {
        "code": item["code"] or _NO_CODE,
        "message": item["message"],
        "path": os.path.relpath(item["filename"], root),
        **_range(item),
        "fix": _fix(item.get("fix"), unsafe=unsafe),
    }


def _range(item: dict[str, Any]) -> dict[str, int]:
    start, end = item["location"], item["end_location"]
    return {
        "line": start["row"],
        "column": start["column"],
        "end_line": end["row"],
        "end_column": end["column"],
    }


def _fix(fix: dict[str, Any] | None, *, unsafe: bool) -> dict[str, Any] | None:
    if fix is None or (fix["applicability"] == "unsafe" and not unsafe):
        return None
    return {
        "applicability": fix["applicability"],
        "message": fix["message"] or "",
        "edits": [{**_range(edit), "content": edit["content"]} for edit in fix["edits"]],
    }


def lint_findings(
    tree: Path, paths: list[str], preview: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the ruff findings in files of a tree, including unsafe fixes.

    If `preview` is given, only these rules are checked, and their fixes include those that ruff
    offers in preview mode. Raises HostError if ruff fails.
    """
    if preview:
        return ruff_check(ToolTree(tree), paths, list(preview), unsafe=True, preview=True)
    return ruff_check(ToolTree(tree), paths, unsafe=True)


def imports_sorted(tree: Path, path: str, content: bytes) -> bytes:
    """Return `content` with its imports sorted according to the project's configuration.

    Raises HostError if ruff fails.
    """
    return with_sorted_imports(ToolTree(tree), path, content)


def lint_text(tree: Path, path: str, content: bytes) -> list[dict[str, Any]]:
    """Return the ruff findings for `content` as if it were the content of the file at `path`.

    Raises HostError if ruff fails.
    """
    return check_text(ToolTree(tree), path, content)
