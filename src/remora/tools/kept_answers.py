"""Answers of slow programs, kept on disk so that a resumed run does not ask again."""

import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from remora.regular_file import replace_file

_DAYS = 2 * 86400.0
_FOLDER_MODE = 0o700
_Answer = TypeVar("_Answer")


class KeptAnswers:
    """Answers in a private folder, each in a file named by the hash of its question.

    Answers older than two days are removed. They are only a cache: if the folder cannot be used,
    nothing is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with suppress(OSError):
            folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            oldest = time.time() - _DAYS
            for file in folder.iterdir():
                if file.lstat().st_mtime < oldest:
                    file.unlink()

    def answer(self, question: bytes, ask: Callable[[], bytes]) -> bytes:
        """Return the kept answer to a question, or else the result of `ask`, which is then kept."""
        found = self.find(question)
        if found is None:
            found = ask()
            self.keep(question, found)
        return found

    def find(self, question: bytes) -> bytes | None:
        """Return the kept answer to a question, if there is one."""
        with suppress(OSError, zlib.error):
            return zlib.decompress(self._path(question).read_bytes())
        return None

    def decoded(self, question: bytes, kind: type[_Answer]) -> _Answer | None:
        """Return the kept answer to a question, if there is one that is JSON of this type."""
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(self.find(question) or b"", type=kind)
        return None

    def keep(self, question: bytes, answer: bytes) -> None:
        """Keep an answer in place of an earlier one."""
        with suppress(OSError):
            replace_file(self._path(question), zlib.compress(answer))

    def _path(self, question: bytes) -> Path:
        return self._folder / sha256(question).hexdigest()
