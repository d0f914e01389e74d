"""The bundle of a repository that a worker gets from the database."""

import subprocess
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from remora.errors import OutsideError
from remora.memory.events import Head
from remora.runs.execution.shard_task import Repository, ShardTask
from remora.runs.project import root_name
from remora.runs.provenance import remember_head
from remora.trace.postgres.contents import PostgresObjectStore
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import this_machine
from remora.worker.project_folder import project_folder

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")


def make_bundle(folder: Path) -> tuple[str, bytes]:
    folder.mkdir()
    (folder / "a.py").write_text("one")
    (folder / "link").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
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
    wrong = (str(tmp_path), "..", "link", "x/../..", "x", "a.py", "loop", "x" * 256, "\0", "\ud800")
    for name in wrong:
        task = make_task(commit, digest, name)
        message = "the repository of the task has no folder"
        with pytest.raises(OutsideError, match=message), project_folder(task, dsn, environ):
            pass
    repository = msgspec.structs.replace(missing.repository, path="\ud800", commit="0" * 40)
    nameless = msgspec.structs.replace(missing, repository=repository)
    with pytest.raises(OutsideError, match="is missing"), project_folder(nameless, dsn, environ):
        pass


def task_here(folder: Path, *, commit: str | None = None, url: str = "") -> ShardTask:
    """A task that names a folder of this machine."""
    repository = Repository(machine=this_machine(), path=str(folder), commit=commit, url=url)
    return msgspec.structs.replace(make_task("", ""), run_id="20261125-1", repository=repository)


def test_a_folder_of_this_machine_is_used_only_for_a_run_that_this_user_started_in_it(
    dsn: str, tmp_path: Path
) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    ours, private = tmp_path / "ours", tmp_path / "private"
    for folder in (ours, private):
        folder.mkdir()
    state = tmp_path / "state" / "remora" / "roots" / root_name(ours)
    remember_head(state, "20261125-1", Head(count=1, hash="0" * 64))
    with project_folder(task_here(ours), dsn, environ) as folder:
        assert folder == ours
    other = msgspec.structs.replace(task_here(ours), run_id="20261125-2")
    path = msgspec.structs.replace(task_here(private), run_id=f"{state}/heads/20261125-1")
    (tmp_path / "loop").symlink_to("loop")
    names = (tmp_path / "loop", Path("/" + "x" * 256), Path("/\0"), Path("/\ud800"))
    for task in (task_here(private), other, path, *map(task_here, names)):
        with (
            pytest.raises(OutsideError, match="only a worker of the user and the machine that st"),
            project_folder(task, dsn, environ),
        ):
            pass


def test_what_is_fetched_is_the_hash_of_a_commit_from_the_address_of_a_server(
    dsn: str, tmp_path: Path
) -> None:
    """And no repository of this machine."""
    commit, _ = make_bundle(tmp_path / "private")
    prefixes = ("", "file://", "./", "http://", "ext::", "--upload-pack=x@y:")
    urls = [f"{prefix}{tmp_path / 'private'}" for prefix in prefixes]
    urls += [f"https://git.example/{end}" for end in ("\0", "\ud800")]
    refused = [(commit, url, "in the task is not the address of a server") for url in urls]
    names = ("HEAD", "main", "refs/heads/main", "-x", "0" * 39, "0" * 41)
    why_not = "is not the hash of a commit"
    refused += [(name, "https://git.example/shop.git", why_not) for name in names]
    for revision, url, why in refused:
        task = task_here(tmp_path, commit=revision, url=url)
        with (
            pytest.raises(OutsideError, match=why),
            project_folder(task, dsn, {"HOME": str(tmp_path)}),
        ):
            pass
