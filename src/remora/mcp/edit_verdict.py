"""The tool `verify_edit`: an edit is judged before it is written, or instead of being written.

The edit is made in memory. What `remora judge` says of it is what it says of any change: the checks
of the project that got worse, docstrings made wrong, tests that cannot fail, and, if code may run,
changed lines that no test notices.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from os.path import lexists, normpath
from pathlib import Path, PurePosixPath
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.errors import HostError, RemoraError, UsageError
from remora.files.project_files import is_private
from remora.files.walk import is_dependency_folder
from remora.mcp.analysis import NOT_RUN
from remora.mcp.answer_page import answer_text
from remora.mcp.project_data import ProjectRedactor
from remora.text import count
from remora.tools.file_tree import FileTree
from remora.usecases.command_document import document_of
from remora.workspaces.copy.changes import content_diff
from remora.workspaces.rooted_files import RootedFiles

PYTHON_FILES = "*.py"
"""The files that are written without a pattern of the person's own."""
_RUN_AT_START = {"sitecustomize", "usercustomize"}
_MOST_SHOWN = 60
"""Characters of an edit in an error about it."""
_KEPT = ("path", "line", "code", "message")


async def verify_edit(
    invocation: Invocation,
    project: ProjectRedactor,
    arguments: Mapping[str, Any],
    *,
    may_run: bool,
    writable: Sequence[str],
) -> str:
    """Judge an edit of a file, and write it if that is asked for and nothing is said against it.

    Returns `ok`, `problems`, `unjudged` and `applied` as JSON. A file that cannot be read afterwards
    is not `ok`. Raises UsageError if an edit does not fit the file, if it may not be written, if it
    adds a secret, or if the file has changed while the edit was judged.
    """
    wants_write = arguments.get("apply", False)
    if wants_write:
        _refuse_write(arguments["path"], writable)
    tree = FileTree(invocation.find_root())
    files, path = tree.files, arguments["path"]
    _refuse_others(files, path)
    before = _content(files, path)
    after = edited(before, arguments["edits"])
    static = [] if may_run else ["--static"]
    diff = content_diff(path, before, after)
    try:
        document = await document_of(invocation, ["judge", *static, "--diff", "-"], diff.encode())
    except RemoraError:  # a diff of an old content may not apply
        _refuse_stale(files, path, before)
        raise
    _refuse_stale(files, path, before)
    unjudged = [*([] if may_run else [NOT_RUN]), *document["unjudged"]]
    problems = [{key: problem[key] for key in _KEPT} for problem in document["problems"]]
    ok = not (problems or document["unread"])
    verdict = {"ok": ok, "problems": problems, "unjudged": unjudged}
    if wants_write and ok:
        _refuse_secrets(project, path, before or b"", after)
        try:
            (tree.create if before is None else tree.write)(path, after)
        except HostError as error:
            raise UsageError(error.message, hint="edit a file of the project's code") from error
    verdict |= {"applied": ok} if wants_write else {}
    return answer_text(verdict, ("remora", "judge"), ("problems", "unjudged"))


def _refuse_write(path: str, writable: Sequence[str]) -> None:
    """Raise UsageError for a file that the person has not let this server write.

    Python files are all but those in hidden folders and those that Python runs at each start.
    """
    place = PurePosixPath(normpath(path))
    is_hidden = any(part.startswith(".") for part in place.parts)
    is_run = not _RUN_AT_START.isdisjoint(part.lower().split(".")[0] for part in place.parts)
    patterns = [
        pattern for pattern in writable if pattern != PYTHON_FILES or not (is_hidden or is_run)
    ]
    if not any(fnmatchcase(str(place), pattern) for pattern in patterns):
        whats = (
            f"{path}: this server may not write this file"
            if writable
            else "this server may not write files"
        )
        option = f"--allow-write={path}" if writable else "--allow-write"
        raise UsageError(
            whats, hint=f"write the edit yourself, or ask the person to start `remora mcp {option}`"
        )


def _refuse_secrets(project: ProjectRedactor, path: str, before: bytes, after: bytes) -> None:
    redact = project.redact
    known, new = (text.decode("utf-8", "replace") for text in (before, after))
    lines = {known.split("\n")[line - 1] for line in redact.lines_with_secrets(known)}
    for line in redact.lines_with_secrets(new):
        if new.split("\n")[line - 1] not in lines:
            raise UsageError(
                f"{path}:{line}: this looks like a secret, which is not written",
                hint="read it from the environment instead",
            )


def _refuse_others(files: RootedFiles, path: str) -> None:
    """Raise UsageError for a file that is not the project's code, before its content is told."""
    why = ""
    if any(is_dependency_folder(files.root, str(folder)) for folder in Path(path).parents[:-1]):
        why = "in a folder of dependencies"
    elif is_private(path.lower()):
        why = "records, version control data and `.env` files are not edited"
    if why:
        raise UsageError(f"{path}: {why}", hint="edit the project's own code")


def edited(content: bytes | None, edits: Sequence[Mapping[str, str]]) -> bytes:
    """Return a file's content after edits, which replace `old` with `new` one after the other.

    An empty `old` is the whole of a file that does not exist. Raises UsageError, with the number of
    the edit, if `old` is not there exactly once.
    """
    text, newline = content or b"", b"\r\n" if content and b"\r\n" in content else b"\n"
    for number, edit in enumerate(edits, 1):
        sides = (edit[side].replace("\r\n", "\n").encode() for side in ("old", "new"))
        old, new = (side.replace(b"\n", newline) for side in sides)
        found = text.count(old) if old else int(content is None and not text)
        if found != 1:
            shown = edit["old"][:_MOST_SHOWN]
            where = f"is there {count(found, 'time')}" if old else "is empty, but the file exists"
            hint = "give `old` with enough lines to be there exactly once"
            if content is None and not text:
                where, hint = "cannot be there: the file does not exist", "use an empty `old` first"
            raise UsageError(f"edit {number}: the text {shown!r} {where}", hint=hint)
        text = text.replace(old, new, 1)
    return text


def _refuse_stale(files: RootedFiles, path: str, before: bytes | None) -> None:
    if _content(files, path) != before:
        raise UsageError(f"stale: {path} has changed meanwhile", hint="read and edit it again")


def _content(files: RootedFiles, path: str) -> bytes | None:
    """Return a file's content, or None if it does not exist. Raises UsageError for a folder."""
    try:
        is_there = files.exists(path) or lexists(files.root / path)
        return files.read_bytes(path) if is_there else None
    except HostError as error:
        raise UsageError(error.message, hint="give the path of a file in the project") from error
