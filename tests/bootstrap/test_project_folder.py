"""The bundle of a repository that a worker gets from the database."""

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from remora.bootstrap.workers.project_folder import project_folder
from remora.errors import OutsideError
from remora.runs.execution.shard_task import Repository, ShardTask
from remora.trace.postgres.contents import PostgresObjectStore
from remora.trace.postgres.database import Database

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")


def make_bundle(folder: Path) -> tuple[str, bytes]:
    folder.mkdir()
    (folder / "a.py").write_text("one")
    (folder / "link").symlink_to("..")
    for words in (["init", "-q"], ["add", "a.py", "link"], ["commit", "-qm", "one"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)
    subprocess.run([*GIT, "bundle", "create", "-q", "bundle", "HEAD"], cwd=folder, check=True)
    commit = subprocess.check_output([*GIT, "rev-parse", "HEAD"], cwd=folder, text=True)
    return commit.strip(), (folder / "bundle").read_bytes()


def make_task(commit: str, bundle: str, folder: str = "") -> ShardTask:
    repository = Repository(
        machine="home", path="/shop", commit=commit, bundle=bundle, folder=folder
    )
    return ShardTask(
        run_id="", project="", number=0, agents=(), start_hash="", code="", repository=repository
    )


def test_a_missing_bundle_is_an_error_and_a_stored_one_is_checked_out(
    dsn: str, tmp_path: Path
) -> None:
    commit, bundle = make_bundle(tmp_path / "repository")
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    (tmp_path / "objects").mkdir()
    with closing(Database(dsn)) as database:
        database.open()
        store = PostgresObjectStore(tmp_path / "objects", database, "objects")
        digest = store.put(bundle)
        store.sync()
    missing = make_task(commit, "0" * 64)
    message = "the bundle of home:/shop in the database is missing"
    with pytest.raises(OutsideError, match=message), project_folder(missing, dsn, environ):
        pass
    with project_folder(make_task(commit, digest), dsn, environ) as folder:
        assert (folder / "a.py").read_text() == "one"
    for outside in (str(tmp_path), "..", "link", "x/../.."):
        task = make_task(commit, digest, outside)
        message = "leads out of the repository"
        with pytest.raises(OutsideError, match=message), project_folder(task, dsn, environ):
            pass
