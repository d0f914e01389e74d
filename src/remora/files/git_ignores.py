"""One git process that says again and again which paths its rules ignore."""

import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from remora.errors import OutsideError
from remora.files.git import check_not_stalled, git_command, git_environment
from remora.files.git_stall import StallDetector

_SILENT_S = 15.0
"""Git answers path by path: if nothing comes for so long, it reads what has no end."""
_WORDS = ("check-ignore", "--no-index", "--stdin", "-z", "-v", "-n")
_FIELDS = 4
"""Of an answer: the file that has the rule, its line, the pattern, the path; empty but for the path
where no rule fits."""
_PART = 1 << 16
_LOOK_MS = 100


class IgnoreAnswer(NamedTuple):
    """What git said of some paths, up to the one that it refuses since it is no more what it was:
    behind a link, in a repository of its own."""

    ignored: set[str]
    refused: str | None


class GitIgnores:
    """Asks about paths below a root, tracked or not.

    A process is started by the first question and kept until `close`, so that many small questions
    cost no more than one large one. What a folder's ignore file says is read when a path in it is
    asked about for the first time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None

    def ignored(self, paths: Sequence[str]) -> IgnoreAnswer:
        """Which of `paths` are ignored. Raises OutsideError where git cannot be asked."""
        if not paths:
            return IgnoreAnswer(set(), None)
        # `./`: a name that begins with a colon would be taken for a pathspec
        asked = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        fields = self._exchange(self._running(), asked, _FIELDS * len(paths)).split(b"\0")
        answered = (len(fields) - 1) // _FIELDS
        rules = zip(paths[:answered], fields[2::_FIELDS], strict=False)
        ignored = {path for path, rule in rules if rule and not rule.startswith(b"!")}
        if answered < len(paths):
            self.close()
            return IgnoreAnswer(ignored, paths[answered])
        return IgnoreAnswer(ignored, None)

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            check_not_stalled(self._root)
            try:
                self._process = subprocess.Popen(
                    git_command(*_WORDS),
                    cwd=self._root,
                    env={**git_environment(), "GIT_FLUSH": "1"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                )
            except OSError as error:
                raise OutsideError(f"git check-ignore could not run: {error}") from error
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                os.set_blocking(stream.fileno(), False)
        return self._process

    def _check_alive(self, detector: StallDetector, until: float) -> None:
        """Raise OutsideError if git cannot answer any more."""
        if detector.is_stalled():
            self.close()
            raise OutsideError(
                f"git check-ignore waits for a pipe or a device in {self._root}",
                hint="`find . -type p` lists the pipes of a folder",
            )
        if time.monotonic() >= until:
            self.close()
            raise OutsideError(f"git check-ignore wrote nothing for {_SILENT_S:g} s")

    def _exchange(self, process: subprocess.Popen[bytes], asked: bytes, ends: int) -> bytes:
        """What git says until so many fields have ended, or until it ends itself."""
        assert process.stdin is not None
        assert process.stdout is not None
        into, out = process.stdin.fileno(), process.stdout.fileno()
        poll = select.poll()
        poll.register(out, select.POLLIN)
        poll.register(into, select.POLLOUT)
        said, rest = bytearray(), memoryview(asked)
        detector, until = StallDetector(process.pid), time.monotonic() + _SILENT_S
        while ends > 0:
            ready = dict(poll.poll(_LOOK_MS))
            if not ready:
                self._check_alive(detector, until)
                continue
            until = time.monotonic() + _SILENT_S
            if into in ready:
                rest = rest[_write(into, rest) :]
                if not rest:
                    poll.unregister(into)
            if out in ready:
                part = os.read(out, _PART)
                if not part:
                    break
                said += part
                ends -= part.count(b"\0")
        return bytes(said)


def _write(into: int, rest: memoryview) -> int:
    """How much of it went in; all of it where nobody reads any more."""
    try:
        return os.write(into, rest[:_PART])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(rest)
