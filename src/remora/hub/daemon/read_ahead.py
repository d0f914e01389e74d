"""Files that a child process reads and analyzes ahead of the daemon during the initial scan."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import msgspec

from remora.code.file_facts import FileFacts
from remora.hub.daemon.child_process import frame_message, receive_message
from remora.hub.daemon.read_ahead_child import PreparedFile
from remora.hub.process.spawn import FOLDER, command

MIN_FILES = 150
"""Number of files from which a child saves time in spite of its start."""
_MAX_BYTES = 64 << 20
"""Bytes of prepared files after which the child ends."""
_batch = msgspec.msgpack.Decoder(list[PreparedFile])
_facts = msgspec.msgpack.Decoder(FileFacts)


class ReadAhead:
    """Prepares files from the end of the list, while the daemon reads from its beginning.

    `file_limit` is the size in bytes above which a file is skipped.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], file_limit: int) -> None:
        self._root = root
        self._environment = environment
        self._file_limit = file_limit
        self._ready: dict[str, PreparedFile] = {}
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, paths: Sequence[str]) -> None:
        """Begin to prepare the files at raw paths, unless there are only a few.

        Large files are left to the analysis child, which has limits for a single file.
        """
        if self._child is not None or len(paths) < MIN_FILES or (os.cpu_count() or 1) < 2:
            return
        with suppress(OSError):  # the daemon then reads all files itself
            self._child = subprocess.Popen(
                command("remora.hub.daemon.read_ahead_child:main", str(self._root)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=FOLDER,
                env=dict(self._environment),
                start_new_session=True,
            )
            wanted = [os.fsencode(path) for path in reversed(paths)]
            order = frame_message(msgspec.msgpack.encode((self._file_limit, wanted)))
            Thread(target=self._receive, args=(self._child, order), daemon=True).start()

    def take(self, path: str, file_hash: str) -> tuple[FileFacts, bytes] | None:
        """Return the facts and the encoded IR of a file, or None if it is not prepared.

        The facts contain no IR. A file that has changed since is not prepared.
        """
        found = self._ready.pop(path, None)
        if found is None or found.file_hash != file_hash:
            return None
        with suppress(msgspec.DecodeError):
            return _facts.decode(found.facts), found.lowered
        return None

    def close(self) -> None:
        """End the child and forget the prepared files."""
        child, self._child = self._child, None
        self._ready.clear()
        if child is not None:
            child.kill()
            child.wait()

    def _receive(self, child: "subprocess.Popen[bytes]", order: bytes) -> None:
        """Collect the child's results in a thread of its own, as the daemon's thread is busy."""
        assert child.stdin is not None
        assert child.stdout is not None
        size = 0
        with suppress(OSError, ValueError, msgspec.DecodeError), child.stdin, child.stdout:
            child.stdin.write(order)
            child.stdin.close()
            while size < _MAX_BYTES and (body := receive_message(child.stdout)) is not None:
                size += len(body)
                batch = _batch.decode(body)
                if child is not self._child:  # closed meanwhile
                    return
                self._ready.update((os.fsdecode(one.path), one) for one in batch)
