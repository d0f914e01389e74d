"""Overlayfs layers over a folder, mounted by a child process that exits with its parent."""

import itertools
import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import DiskError
from remora.sandbox.proc_paths import path_in_view
from remora.sandbox.supervisor_client import GRACE_SECONDS, PATH, bare_interpreter_argv


class OverlayMounts:
    """Layers over the folder `below`, mounted in the empty folder `place`.

    `below` must not change. The layers exist only in memory, in the mount namespace of a child
    process. They are lost when the child exits.
    """

    def __init__(self, below: Path, place: Path) -> None:
        self._lower = below
        self._place = place
        self._numbers = itertools.count()
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def add(self) -> Path:
        """Mount a new layer and return its path.

        In the layer, `tree` is the merged view and `layer/upper` contains the changes. Raises
        DiskError if the layer cannot be mounted.
        """
        with self._lock:
            child = self._child
            if child is None or child.poll() is not None:
                child = self._start()
            name = str(next(self._numbers))  # never reused by a later layer
            _request(child, f"add {name}")
        return path_in_view(child.pid, Path(os.path.realpath(self._place)) / name)

    def drop(self, layer: Path) -> None:
        """Unmount a layer and discard its changes."""
        with self._lock, suppress(DiskError):  # if the child has exited, its layers no longer exist
            if self._child is not None:
                _request(self._child, f"drop {layer.name}")

    def renew(self, layer: Path) -> None:
        """Discard the changes of a layer. Raises DiskError if the layer cannot be mounted again."""
        with self._lock:
            if self._child is not None:
                _request(self._child, f"drop {layer.name}")
                _request(self._child, f"add {layer.name}")

    def close(self) -> None:
        """Discard all layers and stop the child. A later call to `add` starts a new child."""
        with self._lock:
            child, self._child = self._child, None
            if child is not None:
                _end(child)

    def _start(self) -> subprocess.Popen[str]:
        if self._child is not None:
            _end(self._child)
        try:
            make_private(self._place)
            lower, place = (os.path.realpath(path) for path in (self._lower, self._place))
            child = subprocess.Popen(
                [*bare_interpreter_argv("layer_mounts"), lower, place],
                cwd="/",
                env={"PATH": PATH},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # this process handles the terminal's Ctrl-C
            )
        except OSError as error:
            raise DiskError(f"cannot mount layers in {self._place}: {error}") from error
        try:
            _check_answer(child)
        except DiskError:
            _end(child)
            raise
        self._child = child
        return child


def _request(child: subprocess.Popen[str], line: str) -> None:
    assert child.stdin
    try:
        child.stdin.write(line + "\n")
        child.stdin.flush()
    except OSError as error:
        raise DiskError("the process that mounts layers has exited") from error
    _check_answer(child)


def _check_answer(child: subprocess.Popen[str]) -> None:
    assert child.stdout
    answer, _, what = child.stdout.readline().strip().partition(" ")
    if answer == "failed":
        number, _, stage = what.partition(" ")
        raise DiskError(f"cannot {stage}: {os.strerror(int(number))}")
    if answer != "done":
        child.kill()
        child.wait()  # the next use then starts another one
        raise DiskError("the process that mounts layers has exited")


def _end(child: subprocess.Popen[str]) -> None:
    """Stop the child by closing its input. Kill it if it does not exit in time."""
    with child:
        assert child.stdin
        with suppress(OSError):  # it may have exited already
            child.stdin.close()
        try:
            child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
