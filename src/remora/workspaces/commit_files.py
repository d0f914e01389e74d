"""Files of a git commit, with modes and raw contents. No git filters are applied."""

import hashlib
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from remora.errors import OutsideError, UsageError
from remora.files.git import git_output, start_git
from remora.ids import is_id

_REGULAR = {b"100644": 0o644, b"100755": 0o755, b"100664": 0o644}

# Otherwise git holds the content of blobs up to 512 MB, and maps whole packs.
_IN_PIECES = ("core.bigFileThreshold=1m", "core.packedGitWindowSize=1m", "core.packedGitLimit=16m")
PINS = "refs/remora/"
_NOT_CHECKED_OUT = b"S"
"""Git's tag of a file that is not in a sparse checkout."""
GIT_STALL_SECONDS = 60.0
"""Maximum seconds that git may take to find an object, or pause while writing it."""


class CommittedFile(msgspec.Struct, frozen=True):
    """A regular file in a commit."""

    blob: str
    """The name of its blob."""
    mode: int
    """0644 or 0755."""

    def matches(self, blob: str, mode: int) -> bool:
        return bool(mode & 0o100) == bool(self.mode & 0o100) and blob == self.blob

    def has_content(self, content: bytes) -> bool:
        digest = self.new_hash(len(content))
        digest.update(content)
        return digest.hexdigest() == self.blob

    def new_hash(self, size: int) -> "hashlib._Hash":
        """Return the hash that names a blob of `size` bytes, before its first byte."""
        algorithm = "sha256" if len(self.blob) == 64 else "sha1"
        return hashlib.new(algorithm, b"blob %d\0" % size, usedforsecurity=False)


def committed_files(root: Path, commit: str) -> dict[str, CommittedFile]:
    """Return the regular files under `root` in a commit, keyed by root-relative path."""
    found: dict[str, CommittedFile] = {}
    for entry in git_output(root, "ls-tree", "-r", "-z", commit).split(b"\0"):
        kind, _, path = entry.partition(b"\t")
        if kind[:6] in _REGULAR and _is_inside(path):
            blob = kind.split()[2].decode()
            found[os.fsdecode(path)] = CommittedFile(blob, _REGULAR[kind[:6]])
    return found


def indexed_files(
    root: Path, index: Path | None = None, *, sparse: bool = False
) -> dict[str, CommittedFile]:
    """Return the regular files under `root` in the index, keyed by root-relative path.

    `index` is another index file than the repository's. Files with an unresolved conflict are left
    out, and if `sparse` is true, also those that a sparse checkout has.
    """
    found: dict[str, CommittedFile] = {}
    for entry in git_output(root, "ls-files", "-t", "--stage", "-z", index=index).split(b"\0"):
        kind, _, path = entry.partition(b"\t")
        tag, mode, *rest = kind.split()[:4] or [b"", b""]
        is_wanted = mode in _REGULAR and rest[1] == b"0" and _is_inside(path)
        if is_wanted and (tag == _NOT_CHECKED_OUT or not sparse):
            found[os.fsdecode(path)] = CommittedFile(rest[0].decode(), _REGULAR[mode])
    return found


def _is_inside(path: bytes) -> bool:
    """Return True unless a path leads out of its folder, as in a commit that was made to do so."""
    return not {b"", b".", b".."} & {*path.split(b"/")}


def committed_mode(mode: int) -> int:
    """Return the mode that git stores for a file: 0755 if the owner may execute it,
    otherwise 0644.
    """
    return 0o755 if mode & 0o100 else 0o644


def read_blobs(root: Path, blobs: Sequence[str], limit: int) -> Iterator[bytes | None]:
    """Yield the raw content of each blob, or None if it has more than `limit` bytes.

    Raises OutsideError if an object is missing or cannot be read within the time limit.
    """
    for blob in open_blobs(root, blobs):
        yield None if blob.size > limit else b"".join(blob.pieces())


def open_blobs(root: Path, blobs: Sequence[str]) -> "Iterator[BlobContent]":
    """Yield the content of each blob, which can be read until the next one is taken.

    Raises the same errors as `read_blobs`.
    """
    if not blobs:
        return
    settings = (word for setting in _IN_PIECES for word in ("-c", setting))
    with start_git(root, *settings, "cat-file", "--batch") as git:
        assert git.stdin
        assert git.stdout
        output = _BatchOutput(git)
        try:
            # one request, one response: no deadlock on full pipes
            for blob in blobs:
                git.stdin.write(blob.encode() + b"\n")
                content = output.next(blob)
                yield content
                for _ in content.pieces():
                    pass
        except BrokenPipeError as error:
            raise OutsideError("git cat-file exited unexpectedly") from error
        finally:
            git.kill()  # it may hang


class BlobContent:
    """Content of a blob, in pieces that can be read once."""

    def __init__(self, output: "_BatchOutput", blob: str, size: int) -> None:
        self.size = size
        self._output = output
        self._blob = blob
        self._left = size + 1  # a newline follows the content

    def pieces(self) -> Iterator[bytes]:
        """Yield what was not read yet."""
        while self._left:
            piece = self._output.take(self._blob, self._left)
            self._left -= len(piece)
            yield piece if self._left else piece[:-1]


class _BatchOutput:
    """Parser for the output of `git cat-file --batch`."""

    def __init__(self, git: subprocess.Popen[bytes]) -> None:
        assert git.stdout
        self._stream = git.stdout.fileno()
        self._buffer = bytearray()
        self._ready = select.poll()
        self._ready.register(self._stream, select.POLLIN)

    def next(self, blob: str) -> "BlobContent":
        while (end := self._buffer.find(b"\n")) < 0:
            self._read_more(blob)
        words = self._buffer[:end].split()
        if len(words) != 3:
            raise OutsideError(f"git has no object {blob}")
        del self._buffer[: end + 1]
        return BlobContent(self, blob, int(words[2]))

    def take(self, blob: str, most: int) -> bytes:
        """Return at least one and at most `most` of the next bytes."""
        if not self._buffer:
            self._read_more(blob)
        piece = bytes(self._buffer[:most])
        del self._buffer[:most]
        return piece

    def _read_more(self, blob: str) -> None:
        if not self._ready.poll(GIT_STALL_SECONDS * 1000):
            raise OutsideError(
                f"git cannot read the object {blob}",
                hint="run `git fsck`; the file under .git/objects may not be a regular file",
            )
        if not (data := os.read(self._stream, 1 << 20)):
            raise OutsideError(f"git exited before printing {blob}", hint="run `git fsck`")
        self._buffer += data


def pin_commit(root: Path, owner: str, run_id: str, commit: str) -> None:
    """Protect a commit from garbage collection by creating the ref `refs/remora/{owner}/{run_id}`.

    `owner` names the project, because worktrees and projects in one repository share its refs.
    """
    git_output(root, "update-ref", pin_of(owner, run_id), commit)


def unpin_commit(root: Path, run_id: str) -> None:
    """Remove the refs of a run if there are any, also those from before the project was moved."""
    patterns = (pin_of("*", run_id), PINS + run_id)
    output = git_output(root, "for-each-ref", "--format=delete %(refname)", *patterns)
    git_output(root, "update-ref", "--stdin", stdin=output)


def pin_of(owner: str, run_id: str) -> str:
    """Return the name of the ref that `pin_commit` creates. Raises UsageError for no run ID."""
    if not is_id(run_id):
        raise UsageError(f"not a run ID: {run_id!r}")
    return f"{PINS}{owner}/{run_id}"
