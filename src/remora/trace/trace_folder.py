"""Paths in the `.agentfs/` folder, which contains a project's streams, blobs and objects."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NoReturn

from remora.errors import NotFound, UsageError
from remora.ids import is_id
from remora.regular_file import closing_fd
from remora.text import did_you_mean
from remora.trace.content.objects import ObjectStore
from remora.trace.content.private_files import (
    disk_errors,
    open_file,
    open_folder,
    open_subfolder,
    write_all,
)

FOLDER = ".agentfs"
_PARTS = ("traces", "runs", "blobs", "objects")
STREAM_SUFFIX = ".jsonl"
COMPRESSED_SUFFIX = f"{STREAM_SUFFIX}.zst"
"""File name suffixes of plain and compressed streams. If both files exist, the plain one counts."""


_LISTED_BY = {"run": "remora runs", "agent": "remora trace list"}


class TraceFolder:
    """Paths in `root/.agentfs`, or in another folder. Call `create` to create the folders."""

    def __init__(self, root: Path, path: Path | None = None) -> None:
        self.root = root
        self.path = path or root / FOLDER
        self.traces = self.path / "traces"
        self.runs = self.path / "runs"
        self.blobs = ObjectStore(self.path / "blobs", packs=True)
        self.objects = ObjectStore(self.path / "objects")

    def create(self) -> None:
        """Create missing folders, each with a `.gitignore`. The folders are private.

        A `.gitignore` of another tool is kept. Raises DiskError if a folder cannot be created or is
        a link.
        """
        with ExitStack() as stack:
            with disk_errors(self.path.parent):
                above = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                stack.callback(os.close, above)
            with disk_errors(self.path):
                top = open_subfolder(above, self.path.name, make=True)
                stack.callback(os.close, top)
                _write_gitignore(top)
            for name in _PARTS:
                with disk_errors(self.path / name):
                    part = open_subfolder(top, name, make=True)
                    stack.callback(os.close, part)
                    _write_gitignore(part)

    def check(self) -> None:
        """Raise DiskError if `.agentfs` or a folder in it is a link.

        Missing folders are accepted.
        """
        for path in (self.path, *(self.path / name for name in _PARTS)):
            with disk_errors(path), suppress(FileNotFoundError):
                os.close(open_folder(path))

    is_copy = False
    """True if the streams are copies of those in a database. Copies are not compressed or expired.
    """

    @property
    def place(self) -> str:
        """Place of the streams, for messages: the folder, or the address of the database."""
        return str(self.path)

    def refresh(self, path: Path) -> None:
        """Bring a stream up to date if it is a copy. Does nothing for the files of a project."""

    def recopy(self, name: str | None = None) -> None:
        """Copy the stream of an agent or run, or all streams, again if they are copies."""

    def copy_problem(self, path: Path) -> str | None:
        """Return what the database has lost or changed of a stream, or None."""

    def invalid_names(self) -> set[str]:
        """Return names in the database that no stream can have, found when streams were listed."""
        return set()

    def pruned_streams(self) -> set[str]:
        """Return the names of the streams that were removed from the database."""
        return set()

    def agent_stream(self, agent_id: str) -> Path:
        return self.traces / _file_name(agent_id)

    def run_stream(self, run_id: str) -> Path:
        return self.runs / _file_name(run_id)

    def find_agent(self, agent_id: str) -> Path | None:
        """Return the path of an agent's stream, or None if it does not exist.

        The stream may be plain or compressed.
        """
        return _existing_path(self.traces, agent_id)

    def find_run(self, run_id: str) -> Path | None:
        """Return the path of a run's stream, or None if it does not exist.

        The stream may be plain or compressed.
        """
        return _existing_path(self.runs, run_id)

    def existing_agent(self, agent_id: str) -> Path:
        """Return the path of an agent's stream.

        Raises NotFound if there is no stream. The error lists the nearest IDs.
        """
        found = self.find_agent(agent_id)
        if found is None and self.find_run(agent_id) is not None:
            raise NotFound(
                f"{agent_id} is the ID of a run, not of an agent",
                hint=f"`remora trace list --run {agent_id}` lists its agents",
            )
        return found or self._missing(self.traces, "agent", agent_id)

    def existing_run(self, run_id: str) -> Path:
        """Return the path of a run's stream.

        Raises NotFound if there is no stream. The error lists the nearest IDs.
        """
        return self.find_run(run_id) or self._missing(self.runs, "run", run_id)

    def existing_stream(self, name: str) -> Path:
        """Return the path of the stream of an agent or a run. Raises NotFound if there is none."""
        try:
            return self.existing_agent(name)
        except NotFound:
            return self.existing_run(name)

    def agent_streams(self) -> Iterator[Path]:
        """Yield the path of each agent's stream, sorted by ID. Each ID occurs only once."""
        return stream_paths(self.traces)

    def run_streams(self) -> Iterator[Path]:
        """Yield the path of each run's stream, sorted by ID. Each ID occurs only once."""
        return stream_paths(self.runs)

    def _missing(self, folder: Path, kind: str, name: str) -> NoReturn:
        known = [stream_id(path) for path in stream_paths(folder)]
        meant = did_you_mean(name, known)
        listed = f"`{_LISTED_BY[kind]}` lists all recorded {kind}s"
        hint = listed if known else f"no {kind}s have been recorded"
        raise NotFound(f"no {kind} {name!r} in {self.place}{meant}", hint=hint)


def stream_id(path: Path) -> str:
    """Return the ID in the file name of a plain or compressed stream."""
    return path.name.removesuffix(COMPRESSED_SUFFIX if is_compressed(path) else STREAM_SUFFIX)


def is_compressed(path: Path) -> bool:
    return path.name.endswith(COMPRESSED_SUFFIX)


def plain_path(path: Path) -> Path:
    """Return the plain path of a stream. `path` may be either of its two paths."""
    return path.with_name(stream_id(path) + STREAM_SUFFIX)


def compressed_path(path: Path) -> Path:
    """Return the compressed path of a stream. `path` may be either of its two paths."""
    return path.with_name(stream_id(path) + COMPRESSED_SUFFIX)


def _file_name(name: str) -> str:
    if not is_id(name):
        raise UsageError(f"{name!r} is not a valid ID", hint="use a-z, 0-9, '.', '_' and '-'")
    return f"{name}{STREAM_SUFFIX}"


def stream_paths(folder: Path) -> Iterator[Path]:
    """Yield the path of each stream in a folder, sorted by ID. Each ID occurs only once."""
    found: dict[str, Path] = {}
    with disk_errors(folder), suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.name.endswith((STREAM_SUFFIX, COMPRESSED_SUFFIX)) and not (
                is_compressed(path) and stream_id(path) in found
            ):
                found[stream_id(path)] = path
    yield from (found[name] for name in sorted(found))


def _existing_path(folder: Path, name: str) -> Path | None:
    paths = (
        (folder / f"{name}{suffix}" for suffix in (STREAM_SUFFIX, COMPRESSED_SUFFIX))
        if is_id(name)
        else ()
    )
    return next((path for path in paths if os.path.lexists(path)), None)


def _write_gitignore(folder: int) -> None:
    with suppress(FileExistsError):
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with closing_fd(open_file(".gitignore", new, folder=folder)) as file:
            write_all(file, b"*\n")
