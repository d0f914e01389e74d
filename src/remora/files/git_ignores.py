"""Ignore queries answered by a long-lived `git check-ignore` process."""

import os
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from remora.errors import OutsideError
from remora.files.git import start_git

_SILENT_SECONDS = 15.0
"""Maximum seconds between two answers. Git answers path by path, so a longer pause means that it
reads a pipe or an endless file."""
_WORDS = ("check-ignore", "--no-index", "--stdin", "-z", "-v", "-n")
_FIELDS = 4
"""Number of fields per answer: file, line and pattern of the matching rule, and path.

The first three are empty if no rule matches.
"""
_PART = 1 << 16


class IgnoreAnswer(NamedTuple):
    """The ignored paths of a query, up to the first path that git refuses.

    Git refuses paths behind a symbolic link or in another repository.
    """

    ignored: set[str]
    refused: str | None


class GitIgnores:
    """Answers ignore queries for paths below a root, using one long-lived git process.

    The first query starts the process, and `close` stops it. The process reads a folder's ignore
    file only once, at the first query in that folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None

    def ignored(self, paths: Sequence[str]) -> IgnoreAnswer:
        """Return the ignored paths in `paths`. Raises OutsideError if git does not answer."""
        if not paths:
            return IgnoreAnswer(set(), None)
        # `./`: a name that begins with a colon would be taken for a pathspec
        query = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        fields = self._exchange(self._running_process(), query, _FIELDS * len(paths)).split(b"\0")
        answered = (len(fields) - 1) // _FIELDS
        rules = zip(paths[:answered], fields[2::_FIELDS], strict=False)
        ignored = {path for path, rule in rules if rule and not rule.startswith(b"!")}
        if answered < len(paths):
            self.close()
            return IgnoreAnswer(ignored, paths[answered])
        return IgnoreAnswer(ignored, None)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _running_process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = start_git(self._root, *_WORDS, environment={"GIT_FLUSH": "1"})
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                os.set_blocking(stream.fileno(), False)
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], query: bytes, ends: int) -> bytes:
        """Write `query`, and read until `ends` fields are complete or git exits."""
        assert process.stdin is not None
        assert process.stdout is not None
        into, out = process.stdin.fileno(), process.stdout.fileno()
        poll = select.poll()
        poll.register(out, select.POLLIN)
        poll.register(into, select.POLLOUT)
        output, unsent = bytearray(), memoryview(query)
        while ends > 0:
            if not (ready := dict(poll.poll(_SILENT_SECONDS * 1000))):
                self.close()
                raise OutsideError(
                    f"git check-ignore timed out: no output for {_SILENT_SECONDS:g} s",
                    hint=f"a pipe or device may block it: run `find . -type p` in {self._root}",
                )
            if into in ready:
                unsent = unsent[_write(into, unsent) :]
                if not unsent:
                    poll.unregister(into)
            if out in ready:
                if not (part := os.read(out, _PART)):
                    break
                output += part
                ends -= part.count(b"\0")
        return bytes(output)


def _write(into: int, data: memoryview) -> int:
    """Write a part of `data` and return the number of bytes written.

    If git closed its input, return `len(data)`.
    """
    try:
        return os.write(into, data[:_PART])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)
