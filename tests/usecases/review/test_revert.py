"""An accepted change is taken back, whole or not at all."""

import json
from pathlib import Path

import msgspec
import pytest

from remora.errors import DiskError, NotFound, UsageError
from remora.memory.events import Review
from remora.runs.review.apply_changes import merged
from remora.runs.review.journals import complete_journals, recovery_text
from remora.usecases.review.revert import revert, undo
from remora.usecases.review.verdicts import accept, reject
from remora.workspaces.apply.file_swap import FileSwapper
from remora.workspaces.apply.merge_change_set import FilePatch
from tests.runs.conftest import RULES, UNUSED, Desk, analyzed
from tests.runs.review.conftest import verdicts

DONE = UNUSED.replace("    import re\n", "")


class TestAll:
    def test_revert_restores_the_accepted_file(self, shop: Desk) -> None:
        before = shop.tree()
        accept(shop.newest, root=shop.project, every=True)
        assert shop.tree() != before
        done = revert(shop.newest, root=shop.project)
        assert (len(done.reverted), done.conflicts, shop.tree()) == (4, [], before)
        assert verdicts(shop) == ["accepted"] * 4 + ["reverted"] * 4
        assert {job.review.state for job in shop.view(shop.newest).jobs} == {"reverted"}
        assert shop.view(shop.newest).head == done.head
        assert shop.problems() == []


class TestChosen:
    def test_one_of_a_file_leaves_the_others_in(self, shop: Desk) -> None:
        accept(shop.newest, root=shop.project, every=True)
        job = next(j for j in shop.view(shop.newest).jobs if j.node_id == "node:a.py:load")
        assert revert(shop.newest, "a.py:load", root=shop.project).reverted == ["node:a.py:load"]
        assert (shop.root / "a.py").read_text() == UNUSED.replace("import os\n", "")
        last = shop.payloads(shop.newest, Review)[-1]
        assert (last.change_set_sha256, last.head) == (job.proposal.sha256, job.stream.head)

    def test_what_is_not_accepted_or_a_run_that_is_not_ours_is_refused(self, shop: Desk) -> None:
        reject(shop.newest, "b.py:load", root=shop.project)
        assert revert(shop.newest, root=shop.project).reverted == []
        assert revert(shop.newest, "b.py:load", root=shop.project).reopened == ["node:b.py:load"]
        accept(shop.newest, "a.py:load", root=shop.project)
        with pytest.raises(NotFound, match=r"no accepted change \(pending\)") as caught:
            revert(shop.newest, "b.py:load", root=shop.project)
        assert caught.value.hint == "accepted: a.py:load"
        (shop.project.state / "heads" / f"{shop.newest}.json").unlink()
        with pytest.raises(UsageError, match="belongs to another installation"):
            revert(shop.newest, root=shop.project)
        assert revert(shop.newest, root=shop.project, trust_run=True).reverted == ["node:a.py:load"]


class TestMovedOn:
    @pytest.fixture
    def taken(self, shop: Desk) -> Desk:
        accept(shop.newest, "a.py:load", root=shop.project)
        return shop

    def test_an_edit_elsewhere_stays(self, taken: Desk) -> None:
        more = "\n\ndef new():\n    return 9\n"
        taken.write({"a.py": DONE + more})
        assert revert(taken.newest, root=taken.project).reverted == ["node:a.py:load"]
        assert (taken.root / "a.py").read_text() == UNUSED + more

    def test_an_edit_of_the_same_place_is_a_conflict_that_writes_nothing(self, taken: Desk) -> None:
        mine = DONE.replace('    """Read."""\n\n', '    """Mine."""\n    x = 1\n')
        taken.write({"a.py": mine})
        done = revert(taken.newest, root=taken.project)
        assert (done.reverted, len(done.conflicts)) == ([], 1)
        assert (taken.root / "a.py").read_text() == mine
        taken.write({"a.py": None})
        assert revert(taken.newest, root=taken.project).conflicts[0]["detail"] == "was deleted"
        assert verdicts(taken) == ["accepted"]

    def test_one_that_is_saved_in_that_very_moment_keeps_the_edit(
        self, taken: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forward = FileSwapper.put_in_place

        def saving(placing: FileSwapper, entry: object) -> str:
            taken.write({"a.py": "x = 1\n"})
            return forward(placing, entry)  # type: ignore[arg-type]

        monkeypatch.setattr(FileSwapper, "put_in_place", saving)
        done = revert(taken.newest, root=taken.project)
        assert (done.reverted, len(done.conflicts)) == ([], 1)
        assert (taken.root / "a.py").read_text() == "x = 1\n"
        assert verdicts(taken) == ["accepted", "reverted", "accepted"], "it is still in the file"
        assert complete_journals(taken.project).outcome == "none"


class TestAlreadyInTheFiles:
    """`revert` removes only what accepting this change set has written."""

    STAYS = "a.py:load: not removed: 1 hunk that your files contained before"

    @pytest.mark.slow
    def test_what_another_run_wrote_stays_until_that_one_is_reverted(self, shop: Desk) -> None:
        before, first = shop.tree(), shop.newest
        shop.analyze()
        accept(first, "a.py:load", root=shop.project)
        changed = shop.tree()
        done = accept(shop.newest, "a.py:load", root=shop.project)
        assert done.notes == ["a.py:load: your files already contain 1 hunk of it"]
        taken = revert(shop.newest, "a.py:load", root=shop.project)
        assert (len(taken.reverted), taken.notes, shop.tree()) == (1, [self.STAYS], changed)
        taken = revert(first, "a.py:load", root=shop.project)
        assert (len(taken.reverted), taken.notes, shop.tree()) == (1, [], before)
        assert shop.problems() == []

    def test_what_the_user_wrote_stays(self, shop: Desk) -> None:
        shop.write({"a.py": DONE})
        accept(shop.newest, "a.py:load", root=shop.project)
        undone = undo(shop.newest, "a.py:load", root=shop.project)
        assert len(undone.reopened) == 1
        assert (shop.root / "a.py").read_text() == DONE

    @pytest.mark.slow
    def test_of_two_places_only_the_written_one_is_restored(self, tmp_path: Path) -> None:
        both = "def load():\n    import re\n    x = 1\n    return x\n    import os\n"
        desk = analyzed(tmp_path, {"a.py": both, "ruff.toml": RULES}).again()
        mine = both.replace("    import re\n", "")
        desk.write({"a.py": mine})
        accept(desk.newest, root=desk.project, every=True)
        assert (desk.root / "a.py").read_text() == mine.replace("    import os\n", "")
        assert revert(desk.newest, root=desk.project).notes
        assert (desk.root / "a.py").read_text() == mine
        assert desk.problems() == []


def killed_revert(shop: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(shop.newest, "a.py:load", root=shop.project)

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FileSwapper, "put_in_place", killed)
        with pytest.raises(KeyboardInterrupt):
            revert(shop.newest, root=shop.project)


def test_a_revert_that_was_killed_is_completed(shop: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shop.tree()
    killed_revert(shop, monkeypatch)
    assert shop.tree() != before
    left = complete_journals(shop.project)
    assert left.outcome == "completed"
    assert recovery_text(left) == ("`revert` was interrupted; its changes are now complete: a.py")
    assert shop.tree() == before
    assert verdicts(shop) == ["accepted", "reverted"]


def test_a_killed_revert_of_a_file_that_was_edited_says_what_to_do(
    shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_revert(shop, monkeypatch)
    shop.write({"a.py": "x = 1\n"})
    left = complete_journals(shop.project)
    assert left.outcome == "conflict"
    assert recovery_text(left) == (
        "`revert` was interrupted and files changed afterwards; nothing was written to a.py; "
        f"`remora show {shop.newest}` shows the conflict"
    )
    undone = msgspec.structs.replace(left, outcome="undone")
    assert recovery_text(undone) == (
        "`revert` was interrupted before it was recorded; nothing was "
        "written to a.py, so run it again"
    )
    assert recovery_text(complete_journals(shop.project)) == ""


def test_two_tests_that_made_one_new_file_are_joined(shop: Desk) -> None:
    one = b"from pkg.mod import f\n\n\ndef test_f():\n    assert f() == 0\n"
    two = b"from pkg.mod import g\n\n\ndef test_g():\n    assert g() == 0\n"
    patches = [
        FilePatch(path="tests/test_mod.py", base=None, theirs=each, mode=0o644)
        for each in (one, two)
    ]
    (shop.root / "tests").mkdir()
    place = shop.root / "tests" / "test_mod.py"
    place.write_bytes(one)
    (write,) = merged(shop.project, patches[1:]).writes
    assert write.result is not None
    place.write_bytes(write.result)
    (on_branch,) = merged(shop.project, patches[1:], lambda _path: (one, 0o644)).writes
    assert on_branch.result == write.result


def test_a_journal_with_an_invalid_note_changes_nothing(
    shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_revert(shop, monkeypatch)
    file = shop.project.state / "journal" / "current" / "journal.json"
    before = shop.tree()
    known = {"agent_id": "a", "node_id": "node:a.py:f", "verdict": "reverted"}
    for note in (
        {},
        {"run_id": "none"},
        {"run_id": "none", **known, "seq": "0"},
        {"run_id": "../x", **known, "seq": "0", "otherwise": "conflict"},
    ):
        file.write_text(json.dumps(json.loads(file.read_bytes()) | {"note": note}))
        with pytest.raises((DiskError, UsageError), match=r"is damaged|'\.\./x'"):
            complete_journals(shop.project)
        assert shop.tree() == before
        assert file.exists()
