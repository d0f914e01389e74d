"""Moving the whole history of a project out of a database, and into another one."""

import json
import secrets
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Remora
from tests.cli.test_postgres_commands import DSN, STORE, Project, dsn_of
from tests.postgres_server import PostgresServer

EXPORT = ("trace", "export", "--all", "--format", "folder", "-o")
pytestmark = pytest.mark.slow


class Moved(NamedTuple):
    source: Project
    folder: Path
    run: str


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Moved:
    """A run on uncommitted changes, exported by a machine that has no copies."""
    source = Project(tmp_path_factory.mktemp("source"), postgres)
    settings = source.root / "src" / "settings.py"
    settings.write_text(settings.read_text() + "\n\nLIMIT = 3  # not committed\n")
    run = source.analyze()["run_id"]
    source.forget_copies()
    folder = tmp_path_factory.mktemp("exported") / "history"
    done = source(*EXPORT, folder, "--json")
    assert done.code == 0, done.err
    assert (done.document["streams"], done.document["damaged"]) == (2, [])
    assert done.document["contents"] >= 2
    return Moved(source, folder, run)


def streams(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*/*.jsonl"))}


def test_the_folder_has_the_bytes_of_the_database(moved: Moved) -> None:
    rows = moved.source.query(
        "SELECT name, string_agg(lines, '' ORDER BY seq) FROM remora.streams "
        "JOIN remora.events ON stream = id GROUP BY name"
    )
    assert streams(moved.folder) == {name.partition("/")[2]: bytes(lines) for name, lines in rows}
    assert all(path.stat().st_mode & 0o77 == 0 for path in moved.folder.rglob("*"))


@pytest.mark.parametrize("kind", ["files", "database"])
def test_another_project_verifies_shows_and_accepts_it(
    moved: Moved, tmp_path: Path, postgres: PostgresServer, kind: str
) -> None:
    root = shutil.copytree(moved.source.root, tmp_path / "project")
    (tmp_path / "home").mkdir()
    name = f"moved_{secrets.token_hex(4)}"
    environ = {} if kind == "files" else {STORE: "postgres", DSN: dsn_of(postgres, name)}
    if environ:
        postgres.new_database(name)
    remora = Remora(tmp_path / "home", environ)
    imported = remora("trace", "import", moved.folder, cwd=root)
    assert imported.code == 0, imported.err
    assert remora("trace", "verify", "--all", cwd=root).code == 0
    assert remora("diff", "last", cwd=root).out == moved.source("diff", "last").out
    again = tmp_path / "again"
    assert remora(*EXPORT, again, cwd=root).code == 0
    assert streams(again) == streams(moved.folder)
    accepted = remora("accept", "last", "--all", "--trust-run", cwd=root)
    assert accepted.code == 0, accepted.err
    text = (root / "src" / "settings.py").read_text()
    assert "import os" not in text
    assert "LIMIT = 3  # not committed" in text


def test_an_export_can_be_repeated(moved: Moved, tmp_path: Path) -> None:
    folder = shutil.copytree(moved.folder, tmp_path / "history")
    lost = next((folder / "objects").glob("*/*"))
    lost.unlink()
    run = folder / "runs" / f"{moved.run}.jsonl"
    whole = run.read_bytes()
    run.write_bytes(whole[:-10])
    done = moved.source(*EXPORT, folder, "--json")
    assert (done.code, done.document["streams"], done.document["unchanged"]) == (0, 1, 1)
    assert lost.exists()
    assert run.read_bytes() == whole


def test_a_content_that_was_changed_is_not_exported(moved: Moved, tmp_path: Path) -> None:
    source = moved.source
    (digest,) = source.query("SELECT digest FROM remora.contents WHERE kind = 'objects' LIMIT 1")[0]
    where = f"WHERE digest = '\\x{digest.hex()}'"
    (right,) = source.query(f"SELECT content FROM remora.contents {where}")[0]
    source.change("ALTER TABLE remora.contents DROP CONSTRAINT contents_digest")
    source.change(f"UPDATE remora.contents SET content = 'other' {where}")
    try:
        source.forget_copies()
        done = source(*EXPORT, tmp_path / "history", "--json")
    finally:
        source.change(f"UPDATE remora.contents SET content = '\\x{right.hex()}' {where}")
    assert done.code == 1
    assert "does not match its hash" in json.dumps(done.document["damaged"])
    assert not (tmp_path / "history" / "objects" / digest.hex()[:2] / digest.hex()).exists()


@pytest.mark.parametrize("words", [(), ("-o", "-")])
def test_a_folder_must_be_named(moved: Moved, words: tuple[str, ...]) -> None:
    done = moved.source("trace", "export", "--all", "--format", "folder", *words)
    assert (done.code, "-o FOLDER" in done.err) == (2, True)
