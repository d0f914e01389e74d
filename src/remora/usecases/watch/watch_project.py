"""The use case of `remora watch`."""

import os
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.errors import ConfigError, DiskError, OutsideError, RemoraError, UsageError
from remora.files.file_lock import only_process
from remora.files.git_listing import git_paths
from remora.runs.planning.changed_nodes import commit_of
from remora.usecases.analyze.execute_plan import create_records
from remora.usecases.watch.hub_changes import HubChanges
from remora.usecases.watch.watch_pass import PassResult, analyze_changes
from remora.usecases.watch.watch_settings import WatchSettings

_LONG_S = 30.0
"""Seconds after which a lock is reported. A git command that was killed leaves its lock behind."""
_LOOK_S = 5.0
"""Seconds between checks whether the project still exists."""
_AGAIN_S = 60.0
"""Seconds until an analysis that failed is tried again without a change."""
_NICE = 10


class WatchObserver(Protocol):
    def started(self, root: Path, commit: str) -> None:
        """Called before the first analysis."""

    def analyzed(self, result: PassResult) -> None:
        """Called after the first analysis, and after each one that found something to do."""

    def failed(self, error: RemoraError) -> None:
        """Called after an analysis that failed. An error that repeats is reported once."""

    def noted(self, text: str) -> None:
        """Called for events such as a daemon that was restarted."""


def watch(invocation: Invocation, settings: WatchSettings, observer: WatchObserver) -> None:
    """Analyze what differs from HEAD, now and after each change, until the process is interrupted.

    The priority of this process is lowered. Raises UsageError without git, without a commit or if
    the project is watched already, OutsideError if the Hub cannot be started or the project was
    removed, and DiskError if nothing can be recorded.
    """
    invocation = replace(invocation, root=invocation.find_root())
    project = open_project(invocation)
    commit = _head(project.root)
    if project.config.hub.enabled is False:
        raise ConfigError(
            "the Hub is disabled, and `remora watch` learns from it what has changed",
            hint="remove `hub.enabled: false` from the configuration",
        )
    create_records(project)
    os.nice(_NICE)
    refusal = UsageError(
        f"{project.root} is being watched by another process",
        hint="use that `remora watch`, or stop it first",
    )
    with only_process(project.state / "watch.lock", refusal), HubChanges(invocation) as changes:
        observer.started(project.root, commit)
        _Watch(invocation, settings, observer, changes, project.root).run()


class _Watch:
    def __init__(
        self,
        invocation: Invocation,
        settings: WatchSettings,
        observer: WatchObserver,
        changes: HubChanges,
        root: Path,
    ) -> None:
        self._invocation = invocation
        self._settings = settings
        self._observer = observer
        self._changes = changes
        self._root = root
        self._noted_lock: Path | None = None
        self._error = ""
        self._is_first = True

    def run(self) -> None:
        """Analyze until a run is interrupted."""
        files: frozenset[str] | None = None
        while self._is_git_busy():
            self._wait(self._settings.delay)
        again: frozenset[str] = frozenset()
        while True:
            result = self._analyze(files)
            if result is not None and result.stopped:
                return
            if result is not None:
                again = result.again
            changed = self._next_changes(_AGAIN_S if result is None else None)
            if result is None:  # what failed is tried again
                again = files or frozenset()
                changed = None if files is None else changed
            files = None if changed is None else changed | again

    def _analyze(self, files: Collection[str] | None) -> PassResult | None:
        """Return the result of an analysis, or None if it failed."""
        try:
            result = analyze_changes(self._invocation, self._settings, files)
        except (RemoraError, OSError) as error:
            self._check_root()
            found = error if isinstance(error, RemoraError) else DiskError(str(error))
            if found.message != self._error:
                self._observer.failed(found)
            self._error = found.message
            return None
        self._error = ""
        if result.run_id or result.withdrawn or self._is_first:
            self._observer.analyzed(result)
        self._is_first = False
        return result

    def _next_changes(self, limit: float | None) -> frozenset[str] | None:
        """Wait for changes, then until there are none for a while and git is idle.

        Returns None if any file may have changed. After `limit` seconds, returns without changes.
        """
        until = None if limit is None else time.monotonic() + limit
        found = self._wait(_LOOK_S)
        while found is not None and not found:
            if until is not None and time.monotonic() > until:
                return found
            self._check_root()
            found = self._wait(_LOOK_S)
        while True:
            more = self._wait(self._settings.delay)
            if more is not None and not more and not self._is_git_busy():
                return found
            found = None if found is None or more is None else found | more

    def _wait(self, seconds: float) -> frozenset[str] | None:
        found = self._changes.wait(seconds)
        if found is None:
            self._observer.noted("the Hub was restarted")
        return found

    def _is_git_busy(self) -> bool:
        """Return True while git's index is locked. A lock that stays is noted once."""
        lock = held_lock(self._root)
        if lock is None:
            self._noted_lock = None
            return False
        with suppress(OSError):  # it was removed meanwhile
            if lock != self._noted_lock and time.time() - lock.stat().st_mtime > _LONG_S:
                self._noted_lock = lock
                self._observer.noted(
                    f"waiting, because git has locked its index for {_LONG_S:.0f} s; if no git "
                    f"command is running, remove {lock}"
                )
        return True

    def _check_root(self) -> None:
        if not self._root.is_dir():
            raise OutsideError(f"the project {self._root} was removed")


def _head(root: Path) -> str:
    try:
        return commit_of(root, "HEAD")
    except UsageError as error:
        raise UsageError(
            error.message,
            hint="`remora watch` compares files with the last commit; make a commit first",
        ) from error


def held_lock(root: Path) -> Path | None:
    """Return the lock of git's index if git changes files, such as during a checkout."""
    with suppress(OutsideError):
        index = git_paths(root).index_file
        lock = index.with_name(f"{index.name}.lock")
        return lock if lock.exists() else None
    return None
