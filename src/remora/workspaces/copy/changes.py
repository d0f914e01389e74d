"""Changes between two workspace snapshots, as records and as unified diffs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from remora.workspaces.apply.line_diff import Hunk, diff_hunks, split_lines

if TYPE_CHECKING:
    from remora.workspaces.copy.snapshot import BaseSnapshot


class FileState(msgspec.Struct, frozen=True):
    """Content hash and permission bits of a file. The hash is None if the file does not exist."""

    sha256: str | None
    mode: int


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file."""

    path: str
    before: str | None
    """SHA-256 before the change, or None if there was no file."""
    after: str | None
    """SHA-256 after the change, or None if there is no file."""
    mode: int
    """The most recent permission bits."""


HunkNames = Mapping[Hunk | None, str]
"""The hunks of a file to show, with their names. The hunk is None if the file cannot be divided."""
_QUOTED = {'"', "\\"}
_CONTEXT = 3
"""Number of unchanged lines around a change."""
_Snapshot = Mapping[str, FileState]


def changes_between(old: _Snapshot, new: _Snapshot, base: "BaseSnapshot") -> list[Change]:
    """Return the changes between two snapshots, sorted by path. Pass `{}` as the snapshot of the
    base itself.
    """
    found: list[Change] = []
    for path in sorted({*old, *new}):
        before = old.get(path) or _base_state(path, base)
        after = new.get(path) or _base_state(path, base)
        if before != after and (before.sha256 or after.sha256):
            mode = before.mode if after.sha256 is None else after.mode
            found.append(Change(path=path, before=before.sha256, after=after.sha256, mode=mode))
    return found


def _base_state(path: str, base: "BaseSnapshot") -> FileState:
    file = base.files.get(path)
    return FileState(file.sha256, file.mode) if file else FileState(None, 0)


def diff(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    mode: int | None = None,
    old_mode: int | None = None,
    names: HunkNames | None = None,
) -> str:
    """Return a unified diff of a file in the format of `git apply`, or an empty string if nothing
    changed.

    `before` or `after` is None if the file does not exist at that point. `old_mode` is the mode
    before the change. If `names` is given, only its hunks are shown, each with its name after the
    second `@@` of a line, where `git apply` ignores it. If either content is not UTF-8 text, the
    diff only states that the files differ.
    """
    header = _mode_lines(path, before, after, mode, old_mode)
    return header + content_diff(path, before, after, names)


def _mode_lines(
    path: str, before: bytes | None, after: bytes | None, mode: int | None, old_mode: int | None
) -> str:
    """Return the git header lines for an added or deleted file or a changed mode. May be empty."""
    if mode is None or before is after is None:
        return ""
    now = _git_mode(mode)
    if before is None:
        lines = [f"new file mode {now}"]
    elif after is None:
        lines = [f"deleted file mode {now}"]
    elif old_mode is not None and (mode ^ old_mode) & 0o100:
        lines = [f"old mode {_git_mode(old_mode)}", f"new mode {now}"]
    else:
        return ""
    names = f"{_quote_name(f'a/{path}')} {_quote_name(f'b/{path}')}"
    return "".join(f"{line}\n" for line in (f"diff --git {names}", *lines))


def _git_mode(mode: int) -> str:
    return "100755" if mode & 0o100 else "100644"


def content_diff(
    path: str, before: bytes | None, after: bytes | None, names: HunkNames | None = None
) -> str:
    """Return what `diff` returns, without the lines about the file's mode."""
    if before == after:
        return ""
    old = "/dev/null" if before is None else _quote_name(f"a/{path}")
    new = "/dev/null" if after is None else _quote_name(f"b/{path}")
    sides = before or b"", after or b""
    if not all(map(is_text, sides)):
        return f"Binary files {old} and {new} differ\n"
    header = f"--- {old}\n+++ {new}\n"
    old_lines, new_lines = map(split_lines, sides)
    named = [hunk for hunk in names or () if hunk is not None]
    lines = unified_lines(old_lines, named or diff_hunks(old_lines, new_lines), names)
    return header + b"".join(lines).decode()


def is_text(content: bytes) -> bool:
    """Return True if a diff shows the content's lines."""
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def unified_lines(
    old: Sequence[bytes], hunks: Sequence[Hunk], names: HunkNames | None = None
) -> Iterator[bytes]:
    """Yield the lines of a unified diff that applies `hunks`, without the names of the files."""
    added = 0
    for group in _near(hunks):
        at, end = max(group[0].start - _CONTEXT, 0), min(group[-1].end + _CONTEXT, len(old))
        grown = sum(len(hunk.lines) - (hunk.end - hunk.start) for hunk in group)
        text = "; ".join(names.get(hunk, names.get(None, "")) for hunk in group) if names else ""
        place = f"@@ -{_range(at, end)} +{_range(at + added, end + added + grown)} @@ {text}"
        yield f"{place.rstrip()}\n".encode()
        for hunk in group:
            yield from _marked(b" ", old[at : hunk.start])
            yield from _marked(b"-", old[hunk.start : hunk.end])
            yield from _marked(b"+", hunk.lines)
            at = hunk.end
        yield from _marked(b" ", old[at:end])
        added += grown


def hunks_text(numbers: Sequence[int]) -> str:
    """Return the numbers of hunks, such as `hunk 2` or `hunks 1, 3 to 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"hunk{'' if len(numbers) == 1 else 's'} {', '.join(parts)}"


def _near(hunks: Sequence[Hunk]) -> list[list[Hunk]]:
    """Group the hunks whose contexts touch or overlap."""
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        if groups and hunk.start - groups[-1][-1].end <= 2 * _CONTEXT:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    return groups


def _range(start: int, end: int) -> str:
    """Return the first line and the number of lines as in a unified diff, counted from 1."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + (length > 0)},{length}"


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        ended = line.endswith(b"\n")
        yield mark + line + (b"" if ended else b"\n\\ No newline at end of file\n")


def _quote_name(path: str) -> str:
    """Quote a name as git does. Ambiguous names are put in quotes and escaped as ASCII."""
    if path.isprintable() and not _QUOTED & set(path):
        return path
    quoted = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in _QUOTED else f"\\{byte:03o}"
        for byte in os.fsencode(path)
    )
    return f'"{"".join(quoted)}"'
