"""A shard of a run as it is sent to a worker, without secrets and without source code."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """Source of the project's files for a worker.

    `machine` is the driver's machine, on which `path` is the project's root. Elsewhere, the commit
    is fetched from `url`, or else from the git bundle with the hash `bundle` in the object store.
    `folder` is the project's root in the repository.
    """

    machine: str
    path: str
    commit: str | None
    folder: str = ""
    url: str = ""
    bundle: str = ""


class ShardTask(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of a shard, by agent ID.

    `start_hash` is the hash of the line with the run's `run_start`, which holds the plan and the
    settings. `code` is the digest of the driver's installation, which the worker's must equal.
    """

    run_id: str
    project: str
    number: int
    agents: tuple[str, ...]
    start_hash: str
    code: str
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
