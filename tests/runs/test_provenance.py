"""Which runs are ours: what lies in a tree may have been put there by somebody else."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.errors import NotFound, StreamDamaged, UsageError
from remora.memory.events import Head
from remora.runs.provenance import install_key, remember_head
from remora.usecases.review.verdicts import accept, reject
from tests.runs.conftest import CLEAN, RULES, UNUSED, Desk, Kept, analyzed
from tests.trace.conftest import rechained


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(
        tmp_path_factory.mktemp("shop"), {"a.py": UNUSED, "b.py": CLEAN, "ruff.toml": RULES}
    )


@pytest.fixture
def shop(kept: Kept) -> Desk:
    """A project after a run whose two change sets wait."""
    return kept.again()


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))


def forge(path: Path, old: bytes, new: bytes) -> None:
    """Rewrite, and make every hash right again."""
    assert old in path.read_bytes()
    path.write_bytes(rechained([line.replace(old, new) for line in lines(path)]))


def cut(path: Path, count: int) -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines(path)[:count]))


class TestRun:
    def refused(self, desk: Desk, run_id: str, words: str) -> None:
        """By every verdict, with exit code 2, and nothing is written."""
        before = desk.tree()
        for act in (accept, reject):
            with pytest.raises(UsageError, match=words) as caught:
                act(run_id, root=desk.project, every=True)
            assert caught.value.exit_code == 2
            assert "--trust-run" in caught.value.hint
        assert desk.tree() == before

    def test_our_own_may_have_grown(self, shop: Desk) -> None:
        run_id = shop.newest
        accept(run_id, "a.py:load", root=shop.project)
        reject(run_id, "a.py:__module__", root=shop.project)
        assert accept(run_id, root=shop.project, every=True).accepted == []

    def test_a_copied_folder_is_not(self, shop: Desk) -> None:
        """The same user, the same key, another root: nothing was recorded for it."""
        run_id = shop.newest
        other = Desk(shop.folder, "other")
        shutil.copytree(shop.root, other.root, dirs_exist_ok=True)
        self.refused(other, run_id, "the state folder has no record of it")
        assert len(accept(run_id, root=other.project, every=True, trust_run=True).accepted) == 2

    def test_another_installations_is_not_even_if_its_head_is_known(self, shop: Desk) -> None:
        run_id = shop.newest
        (key,) = shop.home.rglob("install.key")
        key.unlink()
        shop.come_back()
        self.refused(shop, run_id, "its run_start was not written by this installation")
        shutil.rmtree(shop.home)
        shop.home.mkdir()
        shop.come_back()
        self.refused(shop, run_id, "the state folder has no record of it")

    def test_one_that_was_cut_is_not(self, shop: Desk) -> None:
        path = shop.project.trace.run_stream(shop.newest)
        whole = path.read_bytes()
        path.write_bytes(whole[:-40])
        self.refused(shop, shop.newest, "truncated or is damaged")
        for count in (5, 1, 0):
            path.write_bytes(whole)
            cut(path, count)
            words = "truncated or is damaged" if count else "was not written by this installation"
            self.refused(shop, shop.newest, words)
        path.unlink()
        with pytest.raises(NotFound):
            accept(shop.newest, root=shop.project, every=True)

    def test_one_that_was_rewritten_is_not(self, shop: Desk) -> None:
        path = shop.project.trace.run_stream(shop.newest)
        whole = path.read_bytes()
        status = b'"status":"submitted"', b'"status":"no_change"'
        rewrite(path, *status)
        self.refused(shop, shop.newest, "or is damaged")
        for words, forged in (
            ("its stream was rewritten", status),
            ("was not written by this installation", (b'"nodes":4', b'"nodes":5')),
        ):
            path.write_bytes(whole)
            forge(path, *forged)
            self.refused(shop, shop.newest, words)

    def test_a_damaged_record_of_ours_trusts_nothing(self, shop: Desk) -> None:
        (record,) = (shop.project.state / "heads").glob("*.json")
        for text in (b"", b"{}", b"\xff", b'{"count": 1}', b"null"):
            record.write_bytes(text)
            with pytest.raises(UsageError):
                accept(shop.newest, root=shop.project, every=True)


class TestAgent:
    """A change set is believed only where the run's stream says how its agent's ends."""

    CHANGES: tuple[tuple[str, Callable[[Path], object]], ...] = (
        ("rewritten", lambda path: rewrite(path, b'"path":"a.py"', b'"path":"b.py"')),
        ("forged", lambda path: forge(path, b'"path":"a.py"', b'"path":"b.py"')),
        ("cut", lambda path: cut(path, 5)),
        ("longer", lambda path: path.write_bytes(path.read_bytes() + lines(path)[-1] + b"\n")),
    )

    @pytest.mark.parametrize("change", [c for _, c in CHANGES], ids=[n for n, _ in CHANGES])
    def test_a_stream_that_is_another_is_refused(
        self, shop: Desk, change: Callable[[Path], object]
    ) -> None:
        run_id = shop.newest
        job = next(j for j in shop.view(run_id).jobs if j.node_id == "node:a.py:load")
        change(shop.project.trace.agent_stream(job.agent_id))
        before = shop.tree()
        for trusted in (False, True):
            with pytest.raises((StreamDamaged, NotFound)):
                accept(run_id, "a.py:load", root=shop.project, trust_run=trusted)
            assert shop.tree() == before

    def test_contents_that_are_others_are_refused(self, shop: Desk) -> None:
        run_id = shop.newest
        (change,) = shop.view(run_id).jobs[1].proposal.changes
        assert change.after is not None
        place = shop.project.trace.objects.folder / change.after[:2] / change.after
        place.write_bytes(b"import evil\n")
        before = shop.tree()
        with pytest.raises(StreamDamaged):
            accept(run_id, "a.py:load", root=shop.project)
        assert shop.tree() == before


def test_the_first_head_of_a_run_is_there_after_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is synced once; of later ones the folder's old entry leads to one of them."""
    synced: list[Path] = []

    def noting(file: int) -> None:
        synced.append(Path(f"/proc/self/fd/{file}").readlink())

    monkeypatch.setattr(os, "fsync", noting)
    heads = tmp_path / "heads"
    for run_id, count, folders in (("r1", 1, [heads]), ("r1", 2, []), ("r2", 1, [heads])):
        synced.clear()
        remember_head(tmp_path, run_id, Head(count=count))
        assert synced == [heads / f"{run_id}.new", *folders]


class TestKey:
    def test_it_is_made_once_and_only_ours(self, tmp_path: Path) -> None:
        key = install_key(tmp_path / "state")
        assert install_key(tmp_path / "state") == key
        assert len(key) == 32
        assert (tmp_path / "state" / "install.key").stat().st_mode & 0o777 == 0o600
        assert install_key(tmp_path / "other") != key


def test_the_signature_covers_the_whole_beginning(shop: Desk) -> None:
    import hmac
    from hashlib import sha256

    run_id = shop.newest
    data = json.loads(lines(shop.project.trace.run_stream(run_id))[0])["data"]
    claimed = data.pop("install")
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    key = shop.project.install_key
    assert hmac.new(key, text.encode(), sha256).hexdigest() == claimed
