"""The folder in which a worker finds a shard's project."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from remora.config.user_folders import UserFolders
from remora.errors import OutsideError
from remora.ids import is_id
from remora.runs.execution.shard_task import Repository, ShardTask
from remora.runs.execution.shared_repository import is_shared_address
from remora.runs.project import root_name
from remora.runs.provenance import known_head
from remora.text import escape_surrogates
from remora.trace.postgres.contents import PostgresObjectStore
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import this_machine
from remora.workspaces.commit_checkout import Origin, checked_out

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_WRITER = "find out who wrote the task: no run of Remora names this"


@contextmanager
def project_folder(task: ShardTask, dsn: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the project's folder: that of a driver of this user, or a fresh checkout.

    Any role of a worker can write a task, so that of a folder or a repository of this machine is
    believed only if this user's state folder has the run. Raises NotFound if the repository does
    not have the commit, and OutsideError if it cannot be fetched or the task was not written by a
    run of Remora.
    """
    repository = task.repository
    folders = UserFolders.from_environ(environ)
    if repository.machine == this_machine() and _was_started_here(task, folders.state):
        yield Path(repository.path)
        return
    if repository.commit is None:
        raise OutsideError(
            "the project is not in a git repository, so only a worker of the user and the machine "
            "that started the run can work on it",
            hint="start `remora worker` there, or put the project into git",
        )
    if not _COMMIT.fullmatch(repository.commit):
        raise OutsideError(
            f"{repository.commit!r} in the task is not the hash of a commit", hint=_WRITER
        )
    origin = _origin(repository, dsn)
    with checked_out(origin, repository.commit, folders.cache, environ) as tree:
        yield _folder_in(tree, repository.folder)


def _folder_in(tree: Path, name: str) -> Path:
    """Return a folder of a working tree. Raises OutsideError if it has none with this name."""
    with suppress(OSError, RuntimeError, ValueError):  # a loop of links, or an impossible name
        folder = tree / name
        if folder.is_dir() and folder.resolve().is_relative_to(tree.resolve()):
            return folder
    raise OutsideError(f"the repository of the task has no folder {name!r}", hint=_WRITER)


def _was_started_here(task: ShardTask, state: Path) -> bool:
    """Return True if a driver of this user started the task's run in the task's folder."""
    folder = Path(task.repository.path)
    if not is_id(task.run_id):  # it could be the path of another head
        return False
    with suppress(RuntimeError, ValueError):  # a loop of links, or an impossible name
        started = known_head(state / "roots" / root_name(folder), task.run_id)
        return bool(started.count) and folder.is_dir()
    return False


def _origin(repository: Repository, dsn: str) -> Origin:
    """Return the address of a repository, or where its bundle in the object store comes from.

    Raises OutsideError if the address is on this machine.
    """
    if repository.url:
        if not is_shared_address(repository.url):
            raise OutsideError(
                f"{repository.url!r} in the task is not the address of a server", hint=_WRITER
            )
        return Origin(repository.url)
    name = escape_surrogates(f"{repository.machine}:{repository.path}")

    def store_bundle(folder: Path) -> Path:
        digest = repository.bundle
        with closing(Database(dsn)) as database:
            problem = PostgresObjectStore(folder, database, "objects").problem(digest)
        if problem:
            raise OutsideError(
                f"the bundle of {name} in the database {problem}",
                hint="`remora analyze --resume RUN` stores it again",
            )
        return folder / digest[:2] / digest

    return Origin(name, store_bundle)
