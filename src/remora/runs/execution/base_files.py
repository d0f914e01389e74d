"""Restoring the files that a run's agents start from, and detecting later changes to them."""

import hashlib
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from remora.agents.job import Job
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, node_summary
from remora.errors import Conflict, HostError, NotFound, StreamDamaged
from remora.ids import display_name, escape_path, is_id, unescape_path
from remora.memory.canonical import canonical
from remora.memory.events import RunStart
from remora.rmtree import try_remove_tree
from remora.runs.execution.agent_settings import selected_rules_of
from remora.runs.execution.run import BaseFiles
from remora.runs.project import Project
from remora.runs.retention.unused_copies import record_project_path
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot, restore_base
from remora.workspaces.rooted_files import RootedFiles

_Rebased = Mapping[str, Any]
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


class ChangedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job whose file was changed by the user.

    `rebased` includes the current file's hash and mode.
    """

    job: Job
    rebased: dict[str, Any]


class BaseFilesCache:
    """Cache of a run's restored bases.

    It contains the recorded base, and bases that include later edits by the user. The folders are
    named after the run, so a process may use the cache only while it is the sole writer of the
    run's stream.
    """

    def __init__(self, project: Project, run_id: str, start: RunStart, *, worker: str = "") -> None:
        """Prepare a cache, in folders of their own for each `worker` of the run."""
        if not is_id(run_id):  # the folder with this name is emptied
            raise NotFound(f"{run_id!r} is not a run ID")
        self._project = project
        self._name = f"{run_id}~{worker}" if worker else run_id
        self._start = start
        self._made: dict[bytes, BaseFiles] = {}
        self._lock = threading.Lock()

    def of(self, rebased: _Rebased) -> BaseFiles:
        """Return the run's base with the files in `rebased` replaced.

        Raises OutsideError if the commit is missing, NotFound if a file's content is missing,
        DiskError if the base cannot be written, and StreamDamaged if the recorded base is invalid.
        """
        with self._lock:
            known = canonical(dict(rebased))
            if known not in self._made:
                base = self._restore(rebased, self._folder(len(self._made)))
                self._made[known] = BaseFiles(
                    base=base,
                    workspaces=SlotDriver(base, self._project.cache / "slots"),
                    ruff=RuffBase(base.folder, selected_rules_of(self._project.config)),
                    rebased=dict(rebased),
                )
            return self._made[known]

    def moved(self, job: Job, base_files: BaseFiles) -> ChangedJob | None:
        """Return the job, updated to the current version of its file.

        Returns None if the file is unchanged. The file's content is stored in `objects/`. Raises
        Conflict if the file or node no longer exists.
        """
        content = _content(self._project.root, job)
        known = base_files.base.files.get(job.path)
        digest = hashlib.sha256(content).hexdigest()
        if known is not None and known.sha256 == digest:
            return None
        module = parse_module(job.path, content)
        node = find_node(module, job.node_id) if isinstance(module, Module) else None
        if node is None:
            problem = "no longer has this node" if isinstance(module, Module) else "is not readable"
            raise _gone_conflict(job, f"{job.path} {problem}")
        mode = known.mode if known is not None else 0o644
        self._project.trace.objects.put(content)
        summary = self._project.redact.text(node_summary(node))
        file = {"sha256": digest, "mode": mode}
        return ChangedJob(
            job=msgspec.structs.replace(job, node_summary=summary),
            rebased={**base_files.rebased, escape_path(job.path): file},
        )

    def close(self) -> None:
        for base_files in self._made.values():
            base_files.ruff.close()
            try_remove_tree(base_files.base.folder)
        self._made.clear()

    def _folder(self, number: int) -> Path:
        """Return the path of a base, after deleting any folder that a killed command left there."""
        name = f"{self._name}~{number}" if number else self._name
        folder = self._project.cache / "bases" / name
        try_remove_tree(folder)
        return folder

    def _restore(self, rebased: _Rebased, folder: Path) -> BaseSnapshot:
        files = self._start.base.get("files")
        differing = _files({**(files if isinstance(files, dict) else {}), **rebased})
        commit = _commit(self._start.base.get("commit"))
        project = self._project
        record_project_path(project)
        pieces = project.trace.objects.pieces
        return restore_base(project.root, commit, differing, pieces, folder)


def _commit(commit: object) -> str | None:
    """Return the commit hash, or None. Raises StreamDamaged for any other value.

    In a stream from another installation, the value could be a git option.
    """
    if commit is None or (isinstance(commit, str) and _COMMIT.fullmatch(commit)):
        return commit
    raise StreamDamaged("the run's base has an invalid commit", hint="run `remora trace verify`")


def _files(recorded: _Rebased) -> dict[str, BaseFile | None]:
    try:
        found = msgspec.convert(recorded, dict[str, BaseFile | None])
    except msgspec.ValidationError as error:
        raise StreamDamaged(
            f"the run's base is invalid: {error}", hint="run `remora trace verify`"
        ) from error
    return {unescape_path(path): file for path, file in found.items()}


def _content(root: Path, job: Job) -> bytes:
    try:
        return RootedFiles(root).read_bytes(job.path)
    except HostError as error:
        raise _gone_conflict(job, error.message) from error


def _gone_conflict(job: Job, why: str) -> Conflict:
    name = display_name(job.node_id)
    return Conflict(f"{name} can no longer be found: {why}")
