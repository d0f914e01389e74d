"""The files that a run's agents start from, had again from its records; and what moved on since."""

import hashlib
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from remora.agents.job import Job
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, find_node, node_summary
from remora.errors import Conflict, HostError, NotFound, StreamDamaged
from remora.ids import is_id, spell_path, unspell_path
from remora.memory.canonical import canonical
from remora.memory.events import RunStart
from remora.runs.execution.run import Ground
from remora.runs.project import Project
from remora.runs.retention.orphaned_copies import note_root
from remora.sandbox.child.rmtree import try_remove_tree
from remora.workspaces.copy.driver_choice import make_driver
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot, restore_base
from remora.workspaces.rooted_files import FILE_LIMIT, RootedFiles

_Rebased = Mapping[str, Any]
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A job on its file as the user has it now; `rebased` names that file's content."""

    job: Job
    rebased: dict[str, Any]


class Grounds:
    """The run's base, and bases in which a file is what the user made of it since.

    Whoever holds one must be the only writer of the run's stream: the folders carry its name.
    """

    def __init__(self, project: Project, run_id: str, start: RunStart) -> None:
        if not is_id(run_id):  # it names a folder that is emptied
            raise NotFound(f"{run_id!r} is not the name of a run")
        self._project = project
        self._run_id = run_id
        self._start = start
        self._made: dict[bytes, Ground] = {}
        self._lock = threading.Lock()

    def of(self, rebased: _Rebased) -> Ground:
        """The run's base with these files in it. Raises OutsideError where the commit is gone,
        DiskError, NotFound or StreamDamaged for a content that is."""
        with self._lock:
            known = canonical(dict(rebased))
            if known not in self._made:
                base = self._restored(rebased, self._folder(len(self._made)))
                driver = self._project.config.workspace.driver
                workspaces = make_driver(driver, base, self._project.cache)
                self._made[known] = Ground(base=base, workspaces=workspaces, rebased=dict(rebased))
            return self._made[known]

    def moved(self, job: Job, ground: Ground) -> Moved | None:
        """The job on its file as it is now; None where that is what `ground` holds.

        The content is in `objects/` then. Raises Conflict where the file or the node is gone.
        """
        content = _content(self._project.root, job)
        known = ground.base.files.get(job.path)
        digest = hashlib.sha256(content).hexdigest()
        if known is not None and known.sha256 == digest:
            return None
        module = parse_module(job.path, content)
        node = find_node(module, job.node_id) if isinstance(module, Module) else None
        if node is None:
            problem = (
                "has no such node any more" if isinstance(module, Module) else "is not readable"
            )
            raise _gone(job, f"{job.path} {problem}")
        mode = known.mode if known is not None else 0o644
        self._project.trace.objects.put(content)
        summary = self._project.redact.text(node_summary(node))
        file = {"sha256": digest, "mode": mode}
        return Moved(
            job=msgspec.structs.replace(job, node_summary=summary),
            rebased={**ground.rebased, spell_path(job.path): file},
        )

    def close(self) -> None:
        """Remove the copies."""
        for ground in self._made.values():
            ground.workspaces.close()
            try_remove_tree(ground.base.folder)
        self._made.clear()

    def _folder(self, number: int) -> Path:
        """A free place; a killed command may have left what it had there."""
        name = f"{self._run_id}~{number}" if number else self._run_id
        folder = self._project.cache / "bases" / name
        try_remove_tree(folder)
        return folder

    def _restored(self, rebased: _Rebased, folder: Path) -> BaseSnapshot:
        files = self._start.base.get("files")
        differing = _files({**(files if isinstance(files, dict) else {}), **rebased})
        commit = _commit(self._start.base.get("commit"))
        project = self._project
        note_root(project)
        get = project.trace.objects.get
        return restore_base(project.root, commit, differing, get, folder)


def _commit(told: object) -> str | None:
    """A stream may come from anywhere, and git would take another word for an option."""
    if told is None or (isinstance(told, str) and _COMMIT.fullmatch(told)):
        return told
    raise StreamDamaged("the run's base names no commit", hint="remora trace verify")


def _files(told: _Rebased) -> dict[str, BaseFile | None]:
    try:
        found = msgspec.convert(told, dict[str, BaseFile | None])
    except msgspec.ValidationError as error:
        raise StreamDamaged(
            f"the run's base is not told as it should be: {error}", hint="remora trace verify"
        ) from error
    return {unspell_path(path): file for path, file in found.items()}


def _content(root: Path, job: Job) -> bytes:
    try:
        return RootedFiles(root).read_bytes(job.path, limit=FILE_LIMIT)
    except HostError as error:
        raise _gone(job, error.message) from error


def _gone(job: Job, why: str) -> Conflict:
    name = job.node_id.removeprefix("node:")
    return Conflict(f"{name} is gone since the run began: {why}")
