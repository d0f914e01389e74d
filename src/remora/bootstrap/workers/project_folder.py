"""The folder in which a worker finds a shard's project."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from remora.config.user_folders import UserFolders
from remora.errors import OutsideError
from remora.runs.execution.shard_task import Repository, ShardTask
from remora.trace.postgres.contents import PostgresObjectStore
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import this_machine
from remora.workspaces.commit_checkout import Origin, checked_out


@contextmanager
def project_folder(task: ShardTask, dsn: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the project's folder: on the driver's machine its own, elsewhere a fresh checkout.

    Raises NotFound if the repository does not have the commit, and OutsideError if it cannot be
    fetched.
    """
    repository = task.repository
    if repository.machine == this_machine() and Path(repository.path).is_dir():
        yield Path(repository.path)
        return
    if repository.commit is None:
        raise OutsideError(
            "the project is not in a git repository, so only its own machine can work on it",
            hint="start `remora worker` there, or put the project into git",
        )
    cache = UserFolders.from_environ(environ).cache
    with checked_out(_origin(repository, dsn), repository.commit, cache, environ) as tree:
        found = tree / repository.folder
        # any role of a worker can write a task
        if not found.resolve().is_relative_to(tree.resolve()):
            raise OutsideError(
                f"the folder {repository.folder!r} of the task leads out of the repository",
                hint="find out who wrote the task: a run of Remora names folders in the repository",
            )
        yield found


def _origin(repository: Repository, dsn: str) -> Origin:
    """Return the address of a repository, or where its bundle in the object store comes from."""
    if repository.url:
        return Origin(repository.url)
    name = f"{repository.machine}:{repository.path}"

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
