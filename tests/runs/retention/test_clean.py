"""What can be freed, and what must not be: a run that waits keeps all that it needs."""

import fcntl
import os
import shutil
import time
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from remora.cli.app.options import Options
from remora.cli.app.project_context import complete_journals_of
from remora.hub.process.hub_paths import hub_paths
from remora.hub.store.hub_store import HubStore
from remora.memory.events import JobStart
from remora.runs.project import root_name
from remora.runs.records.run_stream import open_run
from remora.runs.retention.removable import CleanResult, remove_all
from remora.trace.stream.line_builder import utc_now
from remora.usecases.clean_up import cleanable, is_hub_in_use
from remora.usecases.review.verdicts import accept
from remora.workspaces.apply.journal import JournalEntry, JournalFolder, new_journal
from remora.workspaces.repository_cache import repositories_folder
from tests.runs.conftest import RULES, UNUSED, Desk, Kept

DAYS = 100


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("shop"))
    desk.write({"a.py": UNUSED, "ruff.toml": RULES})
    desk.commit()
    desk.analyze()
    return Kept(desk)


@pytest.fixture
def shop(kept: Kept) -> Desk:
    return kept.again()


def clean(desk: Desk, *, days: int = 0, dry_run: bool = False) -> CleanResult:
    now = utc_now() + timedelta(days=days)
    acts, waiting = cleanable(desk.caller(), desk.project, now)
    return remove_all(acts, waiting, dry_run=dry_run)


def kinds(done: CleanResult) -> set[str]:
    return {found.kind for found in done.removed}


def files(desk: Desk) -> set[Path]:
    return {path for folder in (desk.root, desk.home) for path in folder.rglob("*")}


@pytest.mark.slow
def test_a_run_that_waits_keeps_its_commit_and_contents(shop: Desk) -> None:
    done = clean(shop, days=DAYS)
    assert kinds(done) == {"workspace"}
    assert [run_id for run_id, _ in done.kept] == [shop.newest]
    assert shop.git("for-each-ref", "refs/remora/")
    assert len(accept(shop.newest, root=shop.project, every=True).accepted) == 2


@pytest.mark.slow
def test_after_the_verdicts_the_commit_may_go_and_a_dry_run_removes_nothing(shop: Desk) -> None:
    accept(shop.newest, root=shop.project, every=True)
    before = files(shop)
    done = clean(shop, days=DAYS, dry_run=True)
    assert done.dry_run
    assert done.bytes > 0
    assert files(shop) == before
    assert shop.git("for-each-ref", "refs/remora/")
    assert "ref" in kinds(clean(shop))
    assert shop.git("for-each-ref", "refs/remora/") == ""
    assert shop.problems() == [], "the record is whole"


@pytest.mark.slow
def test_copies_of_a_project_that_is_gone_are_removed_from_any_other_but_those_worked_in(
    tmp_path: Path,
) -> None:
    other, gone = Desk(tmp_path, "other"), Desk(tmp_path, "gone")
    other.write({"a.py": UNUSED})
    gone.write({"a.py": UNUSED, "ruff.toml": RULES})
    gone.analyze()
    cache = gone.project.cache
    assert not clean(other).removed, "while it is there nobody takes its copies"
    gone.root.rename(tmp_path / "elsewhere")
    whose = (cache / "root").read_bytes()
    for said in (b"", b"relative", b"/nowhere/at/all", b"\0", b"x" * 5000, None):
        (cache / "root").unlink()
        if said is not None:
            (cache / "root").write_bytes(said)
        assert clean(other).removed == (), "they do not say whose they are"
    (cache / "root").write_bytes(whose)
    with next((cache / "slots").glob("*.lock")).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert clean(other).removed == ()
    (cache / "bases" / "young").mkdir()
    assert clean(other).removed == ()
    acts, _ = cleanable(other.caller(), other.project, utc_now() + timedelta(days=1))
    gone.root.mkdir()
    assert remove_all(acts).removed == (), "it is there again"
    gone.root.rmdir()
    done = clean(other, days=1)
    assert [found.name for found in done.removed] == [str(cache)]
    assert done.bytes > 0
    assert not cache.exists()


def test_clones_that_workers_no_longer_use_are_removed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    folder = repositories_folder(desk.caller().folders.cache)
    for name in ("used", "unused", "new-1", "gone-1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "HEAD").write_text("ref: refs/heads/main")
    (folder / "used.use").touch()
    (folder / "unused.use").touch()
    os.utime(folder / "unused.use", (0, 0))
    expected = {str(folder / name) for name in ("unused", "new-1", "gone-1")}
    for dry_run in (True, False):
        done = clean(desk, dry_run=dry_run)
        assert {found.name for found in done.removed} == expected
        assert done.bytes > 0
        assert (folder / "unused").exists() == dry_run
    assert {path.name for path in folder.glob("*/")} == {"used"}
    assert clean(desk).removed == ()


def test_a_clone_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    folder = repositories_folder(desk.caller().folders.cache)
    (folder / "new-1").mkdir(parents=True)
    (folder / "gone-1").touch()  # not a folder
    done = clean(desk)
    assert [found.name for found in done.removed] == [str(folder / "new-1")]
    (problem,) = done.problems
    assert problem.startswith(f"{folder / 'gone-1'}: ")


@pytest.mark.slow
def test_a_copy_that_is_worked_in_stays(shop: Desk) -> None:
    lock = next((shop.project.cache / "slots").glob("*.lock"))
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        clean(shop)
        assert lock.with_suffix("").exists()
    clean(shop)
    assert not lock.with_suffix("").exists()
    shop.analyze()  # the next run makes them again


def test_evaluations_go_unless_one_is_running(shop: Desk) -> None:
    place = shop.project.cache / "eval"
    (place / "lint-1" / "tree").mkdir(parents=True)
    (place / "lock").touch()
    with (place / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        clean(shop)
        assert place.exists()
    assert str(place) in {found.name for found in clean(shop).removed}
    assert not place.exists()


def test_a_frozen_copy_that_was_left_goes_and_a_fresh_one_stays(shop: Desk) -> None:
    bases = shop.project.cache / "bases"
    for name, age in (("old", 7200), ("new", 0)):
        (bases / name).mkdir(mode=0o500, parents=True)
        os.utime(bases / name, (time.time() - age,) * 2)
    clean(shop)
    assert [place.name for place in bases.iterdir()] == ["new"]


def test_contents_that_no_stream_names_go(shop: Desk) -> None:
    """What expired with its run: a backup of an accept stays as long as a run would."""
    objects = shop.project.trace.objects
    digest = objects.put(b"nobody's")
    then = time.time() - 60 * 86_400
    os.utime(objects.folder / digest[:2] / digest, (then, then))
    done = clean(shop)
    assert "contents" in kinds(done)
    assert objects.problem(digest) == "is missing"
    assert shop.problems() == []


def test_a_ref_of_a_run_without_records_goes_if_it_is_the_projects_own(shop: Desk) -> None:
    """Worktrees, and projects in one repository, share its refs."""
    refs = [
        f"refs/remora/{root_name(shop.root)}/20200101-000000-aaaaaa",
        f"refs/remora/{root_name(shop.root / 'other')}/20200101-000000-bbbbbb",
    ]
    for ref in refs:
        shop.git("update-ref", ref, "HEAD")
    done = clean(shop)
    assert [found.name for found in done.removed if found.kind == "ref"] == refs[:1]
    assert refs[1] in shop.git("for-each-ref", "refs/remora/")


def test_the_ref_of_a_run_that_is_starting_stays(shop: Desk) -> None:
    young = f"refs/remora/{root_name(shop.root)}/{utc_now():%Y%m%d-%H%M%S}-aaaaaa"
    shop.git("update-ref", young, "HEAD")
    clean(shop)
    assert young in shop.git("for-each-ref", "refs/remora/")


@pytest.mark.parametrize("is_over", [True, False])
def test_what_a_run_needs_since_it_was_listed_stays(shop: Desk, is_over: bool) -> None:
    run_id = shop.newest
    accept(run_id, root=shop.project, every=True)
    base = shop.project.cache / "bases" / run_id
    base.mkdir(parents=True)
    os.utime(base, (time.time() - 7200,) * 2)
    acts, _ = cleanable(shop.caller(), shop.project, utc_now())
    with open_run(shop.project, run_id) as stream:
        stream.append(JobStart(agent_id="lint-x", operation="lint", node_id="node:a.py:f"))
        done = remove_all(() if is_over else acts)
        assert base.exists()
    problems = [*done.problems, *(remove_all(acts).problems if is_over else ())]
    assert f"refs/remora/{root_name(shop.root)}/{run_id}: its run is not over" in problems
    assert shop.git("for-each-ref", "refs/remora/")


def test_a_database_of_a_missing_root_goes(shop: Desk) -> None:
    places = {}
    for name in ("here", "gone"):
        root = shop.folder / name
        root.mkdir(exist_ok=True)
        places[name] = hub_paths(shop.caller().folders, root)
        HubStore(places[name].db, root=root, clock=utc_now).close()
    shutil.rmtree(shop.folder / "gone")
    done = clean(shop)
    assert [found.name for found in done.removed if found.kind == "hub"] == [
        str(places["gone"].db.parent)
    ]
    assert places["here"].db.exists()
    assert not places["gone"].db.parent.exists()


def test_the_hub_database_of_the_project_goes_unless_it_is_in_use(shop: Desk) -> None:
    """It holds source text, and the next question makes it again."""
    places = hub_paths(shop.caller().folders, shop.project.root)
    with HubStore(places.db, root=shop.project.root, clock=utc_now):
        assert "hub" not in kinds(clean(shop))
        assert is_hub_in_use(shop.caller(), shop.project)

    assert not is_hub_in_use(shop.caller(), shop.project)
    assert "hub" in kinds(clean(shop, dry_run=True))
    assert places.db.exists()
    done = clean(shop)
    assert [found.name for found in done.removed if found.kind == "hub"] == [str(places.db.parent)]
    assert not places.db.parent.exists()


def test_what_cannot_be_removed_is_reported(shop: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("remora.runs.retention.clean.remove_tree", refused)
    done = clean(shop)
    assert done.problems
    assert "workspace" not in kinds(done)


class TestFilesLeftByConflicts:
    def left(self, desk: Desk, path: str) -> Path:
        """An accept that was killed, and a file that its user edited twice meanwhile."""
        old, new = b"old\n", b"new\n"
        entry = JournalEntry(
            number=0,
            path=path,
            ours=sha256(old).hexdigest(),
            result=sha256(new).hexdigest(),
            mode=0o644,
        )
        note = {
            "run_id": "none",
            "agent_id": "a",
            "node_id": f"node:{path}:f",
            "seq": "0",
            "verdict": "accepted",
            "otherwise": "conflict",
        }
        journal = new_journal(desk.root.resolve(), [entry], [], note)
        store = JournalFolder(desk.project.state / "journal")
        with store.locked():
            store.write(journal, {"0.new": new, "0.old": old})
        waiting = (desk.root / path).with_name(os.fsdecode(journal.waiting_name(entry)))
        desk.write({path: "typed again\n"})
        waiting.write_bytes(b"typed\n")
        return waiting

    def test_the_conflict_names_them(self, shop: Desk, capsys: pytest.CaptureFixture[str]) -> None:
        waiting = self.left(shop, "pkg/c.py")
        complete_journals_of(Options(root=None), shop.project)
        said = capsys.readouterr().err
        assert str(waiting.relative_to(shop.root)) in said
        assert waiting.read_bytes() == b"typed\n"

    def test_clean_finds_them_but_none_of_an_accept_that_waits(self, shop: Desk) -> None:
        waiting = self.left(shop, "pkg/c.py")
        shop.write({"pkg/.remora-notes": "mine\n"})
        assert "conflict" not in kinds(clean(shop)), "the journal still needs it"
        complete_journals_of(Options(root=None), shop.project)
        (found,) = [one for one in clean(shop, dry_run=True).removed if one.kind == "conflict"]
        assert found.name == str(waiting.relative_to(shop.root))
        assert waiting.exists()
        with JournalFolder(shop.project.state / "journal").locked():
            assert "conflict" not in kinds(clean(shop)), "another command changes this tree"
        clean(shop)
        assert not waiting.exists()
        assert (shop.root / "pkg/.remora-notes").exists()
        assert (shop.root / "pkg/c.py").read_bytes() == b"typed again\n"
