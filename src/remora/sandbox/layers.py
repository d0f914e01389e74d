"""The process that keeps layers over a folder for us: started for the first, ended with us."""

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
    """Layers over `below`, which nobody may write while there are any.

    They are mounted at `place`, an empty folder of ours, where only the process that keeps them
    sees them. What is written in them is in memory and goes with them; whatever kills us ends it all.
    """

    def __init__(self, below: Path, place: Path) -> None:
        self._below = below
        self._place = place
        self._numbers = itertools.count()
        self._keeper: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def add(self) -> Path:
        """A new layer: `tree` in it is worked on, `layer/upper` holds the changes. Raises DiskError."""
        with self._lock:
            keeper = self._keeper
            if keeper is None or keeper.poll() is not None:
                keeper = self._start()
            name = str(next(self._numbers))  # never again: who comes too late finds nothing
            _ask(keeper, f"add {name}")
        return path_in_view(keeper.pid, Path(os.path.realpath(self._place)) / name)

    def drop(self, layer: Path) -> None:
        """Forget a layer and all that was written in it."""
        with self._lock, suppress(DiskError):  # nothing is left of one that ended already
            if self._keeper is not None:
                _ask(self._keeper, f"drop {layer.name}")

    def renew(self, layer: Path) -> None:
        """Forget what was written in a layer. Raises DiskError."""
        with self._lock:
            if self._keeper is not None:
                _ask(self._keeper, f"drop {layer.name}")
                _ask(self._keeper, f"add {layer.name}")

    def close(self) -> None:
        """Forget all layers; the next one begins anew."""
        with self._lock:
            keeper, self._keeper = self._keeper, None
            if keeper is not None:
                _end(keeper)

    def _start(self) -> subprocess.Popen[str]:
        if self._keeper is not None:
            _end(self._keeper)
        try:
            make_private(self._place)
            below, place = (os.path.realpath(path) for path in (self._below, self._place))
            keeper = subprocess.Popen(
                [*bare_interpreter_argv("layer_mounts"), below, place],
                cwd="/",
                env={"PATH": PATH},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # a terminal's Ctrl-C is ours to handle
            )
        except OSError as error:
            raise DiskError(f"cannot make layers in {self._place}: {error}") from error
        try:
            _heard(keeper)
        except DiskError:
            _end(keeper)
            raise
        self._keeper = keeper
        return keeper


def _ask(keeper: subprocess.Popen[str], line: str) -> None:
    assert keeper.stdin
    try:
        keeper.stdin.write(line + "\n")
        keeper.stdin.flush()
    except OSError as error:
        raise DiskError("the process that keeps the layers has ended") from error
    _heard(keeper)


def _heard(keeper: subprocess.Popen[str]) -> None:
    assert keeper.stdout
    said, _, what = keeper.stdout.readline().strip().partition(" ")
    if said == "failed":
        number, _, stage = what.partition(" ")
        raise DiskError(f"cannot make {stage}: {os.strerror(int(number))}")
    if said != "done":
        raise DiskError("the process that keeps the layers has ended")


def _end(keeper: subprocess.Popen[str]) -> None:
    """Its input ends, and so does it."""
    with keeper:
        assert keeper.stdin
        with suppress(OSError):  # it may have ended before it read all
            keeper.stdin.close()
        try:
            keeper.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()
