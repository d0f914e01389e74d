"""Sandboxed processes that run ruff for all copies of a base, and the results of earlier runs."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from remora.errors import HostError
from remora.sandbox.process import ProcessResult
from remora.tools.host.ruff.config_files import is_configured, target_version
from remora.tools.host.ruff.ruff_session import RuffSession, start_session
from remora.tools.tree import ToolTree

_MOST_PROCESSES = 4
_OLDEST = 900.0
"""Seconds after which a process is replaced, because its own time limit ends it later."""
_MOST_RESULTS = 256
_LARGEST_RESULT = 256 * 1024
_MOST_FINDINGS = 50_000

_Result = tuple[tuple[str, ...], bytes]


class SharedRuff:
    """Runs ruff on texts as if they were files of a base.

    Ruff reads only the base's configuration and the names of its files, so a run is valid for every
    copy that has the same of both. Processes start when they are needed, and end with `close`.
    """

    def __init__(self, folder: Path) -> None:
        self.tree = ToolTree(folder)
        self._changed = threading.Condition()
        self._idle: list[_Started] = []
        self._running = 0
        self._results: OrderedDict[_Result, ProcessResult] = OrderedDict()
        self._findings: dict[tuple[str, bytes], list[dict[str, Any]]] = {}
        self._formats: dict[tuple[str, bytes], bool] = {}
        self._known = 0
        self._options: dict[str, list[str]] = {}

    @contextmanager
    def used(
        self, copy: Path | None = None, is_like_base: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Use this object for the base, and for a copy of it, in the block.

        `is_like_base` returns True if the copy has the base's files and configuration.
        """
        token = _CURRENT.set((self, copy, is_like_base))
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def run(self, words: Sequence[str], stdin: bytes, seconds: float) -> ProcessResult:
        """Run a command in the base's folder, or return its earlier result. Raises HostError."""
        key = (tuple(words), hashlib.sha256(stdin).digest())
        with self._changed:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        with self._session(seconds) as session:
            result = session.run(words, stdin, seconds)
        if result.returncode == 0 and len(result.stdout) <= _LARGEST_RESULT:
            with self._changed:
                self._results[key] = result
                while len(self._results) > _MOST_RESULTS:
                    self._results.popitem(last=False)
        return result

    def options(self, path: str) -> list[str]:
        """Return the options for a file, as `rule_options` does."""
        folder = path.rpartition("/")[0]
        if folder not in self._options:
            self._options[folder] = rule_options(self.tree, path)
        return self._options[folder]

    def remember(self, contents: Mapping[str, bytes], found: Sequence[dict[str, Any]]) -> None:
        """Keep all findings of some files, whose contents are keyed by path."""
        by_path: dict[str, list[dict[str, Any]]] = {path: [] for path in contents}
        for finding in found:
            if finding["path"] in by_path:
                by_path[finding["path"]].append(finding)
        for path, findings in by_path.items():
            self._known += len(findings)
            if self._known <= _MOST_FINDINGS:
                self._findings[path, hashlib.sha256(contents[path]).digest()] = findings

    def known_findings(self, path: str, content: bytes) -> list[dict[str, Any]] | None:
        """Return the findings that were kept for a version of a file, or None."""
        found = self._findings.get((path, hashlib.sha256(content).digest()))
        return None if found is None else list(found)

    def remember_format(self, path: str, content: bytes, *, is_formatted: bool) -> None:
        self._formats[path, hashlib.sha256(content).digest()] = is_formatted

    def known_format(self, path: str, content: bytes) -> bool | None:
        """Return True if a version of a file is formatted, or None if that is not known."""
        return self._formats.get((path, hashlib.sha256(content).digest()))

    def close(self) -> None:
        """End all processes that are idle."""
        with self._changed:
            idle, self._idle = self._idle, []
        for started in idle:
            started.end()

    @contextmanager
    def _session(self, seconds: float) -> Iterator[RuffSession]:
        """Yield a process that is not used by another thread. It ends if the block raises."""
        started = self._next(seconds)
        try:
            started = started or _Started(self.tree.tree)
            yield started.session
        except BaseException:
            self._give_back(None)
            if started is not None:
                started.end()
            raise
        self._give_back(started)

    def _next(self, seconds: float) -> "_Started | None":
        """Return an idle process, or None if a new one is to be started. May wait for one."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._idle or self._running < _MOST_PROCESSES, seconds
            ):
                raise HostError("ruff's processes did not finish in time")
            self._running += 1
            started = self._idle.pop() if self._idle else None
        if started is not None and time.monotonic() - started.at > _OLDEST:
            started.end()
            return None
        return started

    def _give_back(self, started: "_Started | None") -> None:
        with self._changed:
            self._running -= 1
            if started is not None:
                self._idle.append(started)
            self._changed.notify()


class _Started:
    """A process and the time at which it was started."""

    def __init__(self, folder: Path) -> None:
        self.at = time.monotonic()
        self._opened = start_session(folder, seconds=_OLDEST * 2)
        self.session = self._opened.__enter__()

    def end(self) -> None:
        self._opened.__exit__(None, None, None)


_CURRENT: ContextVar[tuple[SharedRuff, Path | None, Callable[[], bool]] | None] = ContextVar(
    "shared_ruff", default=None
)


def shared_ruff_for(place: ToolTree) -> SharedRuff | None:
    """Return the object that runs ruff for a tree, or None if there is none."""
    current = _CURRENT.get()
    if current is None:
        return None
    shared, copy, is_like_base = current
    if place.tree == shared.tree.tree or (place.tree == copy and is_like_base()):
        return shared
    return None


def rule_options(place: ToolTree, path: str) -> list[str]:
    """Return the options with which ruff uses only the configuration in the tree.

    If the project has no configuration, ruff would use one above the root.
    """
    return [] if is_configured(place, path) else isolated_options(place)


def isolated_options(place: ToolTree) -> list[str]:
    """Return the options with which ruff uses no configuration but the project's Python version."""
    return ["--isolated", *target_version(place)]
