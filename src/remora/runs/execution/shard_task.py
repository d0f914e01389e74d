"""A shard of a run as it is sent to a worker, without secrets and without source code."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """Source of the project's files for a worker."""

    machine: str
    """The driver's machine."""
    path: str
    """The project's root on that machine."""
    commit: str | None
    """The commit to fetch elsewhere, if there is one."""
    folder: str = ""
    """The project's root in the repository."""
    url: str = ""
    """The address of a repository that has the commit, or an empty string."""
    bundle: str = ""
    """The hash of a git bundle in the object store that has it, or an empty string."""


class ShardTask(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of a shard."""

    run_id: str
    project: str
    number: int
    """The number of the shard."""
    agents: tuple[str, ...]
    """The IDs of the agents."""
    start_hash: str
    """The hash of the line with the run's `run_start`, which holds the plan and the settings."""
    code: str
    """The digest of the driver's installation, which the worker's must equal."""
    repository: Repository


@cache
def code_digest() -> str:
    """Return a digest of the installed Remora and of the ruff that it uses."""
    digest = hashlib.sha256(version("ruff").encode())
    root = Path(__file__).parents[2]
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".pym", ".yaml"}:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
