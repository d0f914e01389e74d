"""A terminal on which a command runs."""

import os
import pty
import re
import select
import struct
import termios
import time
from fcntl import ioctl
from pathlib import Path

from tests.cli.conftest import Remora
from tests.forked_process import warm

ASK = r"\[q\]uit \[\?\] "
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
DEADLINE_S = 50


class Terminal:
    """A person at a terminal: sees text, presses keys."""

    def __init__(self, remora: Remora, root: Path, *args: str, size: tuple[int, int]) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        environ = {**remora.environment, "TERM": "xterm-256color"}
        line = [remora.program, *args]
        self.process = warm().start_on_terminal(line, cwd=root, environ=environ, terminal=theirs)
        os.close(theirs)
        self.raw = self.seen = ""

    def sees(self, pattern: str) -> str:
        """Everything up to the pattern, without colours; what comes after it is seen later."""
        end = time.monotonic() + DEADLINE_S
        while True:
            shown = _CONTROL.sub("", self.raw)
            found = re.search(pattern, shown)
            if found:
                self.raw, self.seen = shown[found.end() :], shown[: found.end()]
                return self.seen
            assert time.monotonic() < end, f"{pattern!r} did not come; there is {shown!r}"
            if select.select([self._ours], [], [], 1)[0]:
                self.raw += self._read()

    def press(self, key: str) -> None:
        """One key, once it is waited for: what is typed ahead decides nothing."""
        self._type(key, line=False)

    def asks(self, keys: str, question: str = ASK) -> str:
        """Press keys, each of which leads to a question; return what the last one shows."""
        for key in keys:
            self.press(key)
            self.sees(question)
        return self.seen

    def types(self, line: str) -> None:
        """A line, once one is asked for."""
        self._type(f"{line}\r", line=True)

    def _type(self, text: str, *, line: bool) -> None:
        end = time.monotonic() + DEADLINE_S
        while bool(termios.tcgetattr(self._ours)[3] & termios.ICANON) is not line:
            assert time.monotonic() < end, "nothing is asked"
            time.sleep(0.01)
        os.write(self._ours, text.encode())

    def resizes(self, lines: int, columns: int) -> None:
        ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def is_stopped(self) -> bool:
        """Whether it is suspended, once it has had the time."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
            if stat.rpartition(")")[2].split()[0] == "T":
                return True
            time.sleep(0.01)
        return False

    def ends(self) -> tuple[int, str]:
        """Its exit code, and all that was not seen yet."""
        while chunk := self._read():
            self.raw += chunk
        return self.process.wait(timeout=DEADLINE_S), self.raw

    def quits(self, expected: int = 0) -> str:
        """End a review. Return all that was not seen yet."""
        self.press("q")
        code, rest = self.ends()
        assert code == expected
        return rest

    def _read(self) -> str:
        try:
            return os.read(self._ours, 65536).decode("utf-8", "replace")
        except OSError:  # Linux says so when the other side is closed
            return ""

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)
