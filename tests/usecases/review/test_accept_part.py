"""A part of a change, or an edited version, is written if it passes the checks of the agent."""

from dataclasses import replace as replaced

import pytest
from msgspec.structs import replace

import remora
from remora.errors import Conflict, UsageError
from remora.exports.run_group import group_of_run, verdict_of
from remora.memory.events import Review
from remora.runs.execution.run import RunRequest
from remora.runs.records.change_set_files import job_diff
from remora.runs.records.results import run_document
from remora.runs.report.report_builder import make_report
from remora.runs.review.accepted_changes import Verdicts
from remora.runs.review.journals import complete_journals
from remora.usecases.review.accept_part import accept_edited, accept_hunks, proposed_files
from remora.usecases.review.revert import revert, undo
from remora.usecases.review.verdicts import accept, reject
from remora.workspaces.apply.file_swap import FileSwapper
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.hunks import hunks_of
from tests.runs.conftest import Desk, Kept
from tests.three_hunks import EDITS, FILES, LOADER, with_edits

NODE = "mod.py:load"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A change of three hunks; the second one needs the first one. No gate judges it."""
    desk = Desk(tmp_path_factory.mktemp("part"))
    desk.write({**FILES, "remora.yaml": "gates: {time_s: 0}\n"})
    desk.analyze([], request=replaced(RunRequest(operations=("own",), node=NODE)))
    return Kept(desk)


@pytest.fixture
def desk(kept: Kept) -> Desk:
    return kept.again()


def text_of(desk: Desk) -> str:
    return (desk.root / "mod.py").read_text()


def reviews(desk: Desk) -> list[Review]:
    return desk.payloads(desk.newest, Review)


def refused(desk: Desk, done: Verdicts) -> str:
    """Why nothing was written and recorded; the change set is still pending."""
    assert (done.accepted, reviews(desk), text_of(desk)) == ([], [], LOADER)
    assert desk.job(desk.newest, "load").review.state == "pending"
    (conflict,) = done.conflicts
    return str(conflict["detail"])


class TestHunks:
    def test_chosen_hunks_are_written_and_recorded(self, desk: Desk) -> None:
        done = accept_hunks(desk.newest, NODE, [2, 1], root=desk.project)
        assert (done.conflicts, text_of(desk)) == ([], with_edits(1, 5))
        (review,) = reviews(desk)
        assert (review.verdict, review.surface) == ("accepted", "cli")
        assert review.written is not None
        assert (review.written.hunks, review.written.of, review.written.edited) == (
            (1, 2),
            3,
            False,
        )
        (job,) = run_document(desk.project, desk.view(desk.newest))["jobs"]
        assert job["written"] == {"hunks": [1, 2], "of": 3, "edited": False}
        assert (job["review"], job["rest"]) == ("pending", [3])
        diff = job_diff(desk.project, desk.job(desk.newest, "load"))
        assert "+    return value, size  # both" in diff
        assert "import json" not in diff
        assert desk.problems() == []

    def test_the_others_are_accepted_or_rejected_later(self, desk: Desk) -> None:
        accept_hunks(desk.newest, NODE, [1, 2], root=desk.project)
        with pytest.raises(UsageError, match="no such hunks: 2"):
            accept_hunks(desk.newest, NODE, [2], root=desk.project)
        done = accept(desk.newest, NODE, root=desk.project)
        assert (done.accepted, text_of(desk)) == (["node:mod.py:load"], with_edits(*EDITS))
        job = desk.job(desk.newest, "load")
        assert (job.review.state, job.review.written, job.review.left) == ("accepted", None, ())
        assert revert(desk.newest, root=desk.project).conflicts == []
        assert text_of(desk) == LOADER

    def test_a_part_is_reverted_alone_and_the_others_stay_pending(self, desk: Desk) -> None:
        accept_hunks(desk.newest, NODE, [3], root=desk.project)
        assert revert(desk.newest, root=desk.project).reverted == ["node:mod.py:load"]
        job = desk.job(desk.newest, "load")
        assert (text_of(desk), job.review.state, job.review.written) == (LOADER, "pending", None)
        assert job.review.left == (1, 2)
        assert desk.problems() == []

    def test_rejecting_the_others_leaves_the_part_accepted(self, desk: Desk) -> None:
        accept_hunks(desk.newest, NODE, [3], root=desk.project)
        reject(desk.newest, NODE, root=desk.project)
        job = desk.job(desk.newest, "load")
        assert (job.review.state, text_of(desk)) == ("accepted", with_edits(7))
        assert job.review.written is not None
        undo(desk.newest, NODE, root=desk.project)
        job = desk.job(desk.newest, "load")
        assert (job.review.state, job.review.left, text_of(desk)) == ("pending", (), LOADER)

    def test_hunks_that_the_file_had_before_are_kept_by_revert(self, desk: Desk) -> None:
        accept_hunks(desk.newest, NODE, [1, 2], root=desk.project)
        desk.write({"mod.py": with_edits(*EDITS)})
        accept(desk.newest, NODE, root=desk.project)
        assert desk.job(desk.newest, "load").review.present == (3,)
        revert(desk.newest, root=desk.project)
        assert text_of(desk) == with_edits(7)

    def test_a_part_on_a_branch_is_not_completed_in_the_files(self, desk: Desk) -> None:
        desk.commit()
        accept_hunks(desk.newest, NODE, [3], root=desk.project)
        with pytest.raises(UsageError, match="already accepted into your files"):
            accept(desk.newest, NODE, root=desk.project, git_branch="fixes")

    def test_they_are_merged_with_edits_of_the_users(self, desk: Desk) -> None:
        desk.write({"mod.py": f"{LOADER}\n\nMINE = 1\n"})
        accept_hunks(desk.newest, NODE, [3], root=desk.project)
        assert text_of(desk) == with_edits(7) + "\n\nMINE = 1\n"

    def test_an_edit_of_the_same_lines_is_a_conflict(self, desk: Desk) -> None:
        mine = LOADER.replace("value, size", "value")
        desk.write({"mod.py": mine})
        done = accept_hunks(desk.newest, NODE, [3], root=desk.project)
        assert (len(done.conflicts), text_of(desk), reviews(desk)) == (1, mine, [])
        assert accept_hunks(desk.newest, NODE, [1, 2], root=desk.project).conflicts == []

    def test_hunks_that_do_not_exist_or_break_verification_are_refused(self, desk: Desk) -> None:
        for numbers in ([], [0], [4], [1, 9]):
            with pytest.raises(UsageError, match="no such hunks") as caught:
                accept_hunks(desk.newest, NODE, numbers, root=desk.project)
            assert caught.value.hint == "pending: 1 to 3"
        done = accept_hunks(desk.newest, NODE, [2, 3], root=desk.project)
        assert refused(desk, done) == "it fails defined_names: mod.py:5: Undefined name `json`"
        assert accept_hunks(desk.newest, NODE, [3], root=desk.project).conflicts == []
        assert text_of(desk) == with_edits(7)


@pytest.mark.slow
def test_a_verdict_names_the_surface_that_it_came_from(desk: Desk) -> None:
    project = replaced(desk.project, surface="web")
    remora.accept_hunks(desk.newest, NODE, [3], root=project)
    remora.undo(desk.newest, NODE, root=project)
    remora.accept_edited(desk.newest, NODE, edited(desk, "# both", "# a pair"), root=project)
    assert [(review.verdict, review.surface) for review in reviews(desk)] == [
        ("accepted", "web"),
        ("reopened", "web"),
        ("accepted", "web"),
    ]


class TestTakenBack:
    def test_after_undo_everything_can_be_accepted_and_reverted(self, desk: Desk) -> None:
        accept_hunks(desk.newest, NODE, [3], root=desk.project)
        assert undo(desk.newest, NODE, root=desk.project).conflicts == []
        assert text_of(desk) == LOADER
        job = desk.job(desk.newest, "load")
        assert (job.review.state, job.review.written) == ("pending", None)
        assert "+import json" in job_diff(desk.project, job)
        accept_hunks(desk.newest, NODE, [1, 2, 3], root=desk.project)
        assert text_of(desk) == with_edits(*EDITS)
        assert reviews(desk)[-1].written is None, "all hunks are the whole change"
        undo(desk.newest, NODE, root=desk.project)
        accept_hunks(desk.newest, NODE, [1, 2], root=desk.project)
        desk.write({"mod.py": text_of(desk) + "# mine\n"})
        assert revert(desk.newest, root=desk.project).conflicts == []
        assert text_of(desk) == LOADER + "# mine\n"

    def test_an_accept_that_was_killed_is_completed(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(*_: object) -> str:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(FileSwapper, "put_in_place", killed)
            with pytest.raises(KeyboardInterrupt):
                accept_hunks(desk.newest, NODE, [1, 2], root=desk.project)
        assert complete_journals(desk.project).outcome == "completed"
        assert text_of(desk) == with_edits(1, 5)
        assert desk.job(desk.newest, "load").review.written is not None


def edited(desk: Desk, old: str, new: str) -> list[FilePatch]:
    (file,) = proposed_files(desk.newest, NODE, root=desk.project, trust_run=False)
    assert file.theirs is not None
    text = file.theirs.decode()
    assert old in text
    return [replace(file, theirs=text.replace(old, new).encode())]


class TestEdited:
    def test_an_edited_version_is_written_and_recorded(self, desk: Desk) -> None:
        files = edited(desk, "# both", "# a pair")
        desk.write({"mod.py": f"{LOADER}\n\nMINE = 1\n"})  # it may be saved meanwhile
        assert accept_edited(desk.newest, NODE, files, root=desk.project).conflicts == []
        assert text_of(desk) == with_edits(*EDITS).replace("both", "a pair") + "\n\nMINE = 1\n"
        (review,) = reviews(desk)
        assert review.written is not None
        assert (review.written.edited, review.written.hunks) == (True, ())
        assert revert(desk.newest, root=desk.project).conflicts == []
        assert text_of(desk) == f"{LOADER}\n\nMINE = 1\n"
        assert desk.problems() == []

    def test_an_edit_that_fails_or_is_of_something_else_is_refused(self, desk: Desk) -> None:
        for old, new, why in (
            ("import json", "import json, os", "no_new_findings: mod.py: new finding F401"),
            ("return value", "return valve", "defined_names: mod.py:7: Undefined name"),
            ("# both", "# forbidden", "nothing.pym: it says what is forbidden"),
            ("return value", "return (value", "parses: mod.py: "),
        ):
            done = accept_edited(desk.newest, NODE, edited(desk, old, new), root=desk.project)
            assert refused(desk, done).startswith(f"it fails {why}")
        (file,) = proposed_files(desk.newest, NODE, root=desk.project, trust_run=False)
        assert [(each.number, each.line) for each in hunks_of([file])] == [(1, 1), (2, 5), (3, 7)]
        for wrong, why in (
            (replace(file, theirs=file.base), "leaves nothing of the change of"),
            (replace(file, path="ruff.toml"), "is not a file of this change"),
        ):
            with pytest.raises(UsageError, match=why):
                accept_edited(desk.newest, NODE, [wrong], root=desk.project)

    def test_nothing_is_proposed_for_lines_that_the_user_edited(self, desk: Desk) -> None:
        desk.write({"mod.py": LOADER.replace("loads(text)", "loads(text) or {}")})
        with pytest.raises(Conflict, match="was edited at the same lines after the run started"):
            proposed_files(desk.newest, NODE, root=desk.project, trust_run=False)


def test_what_a_person_changed_is_not_the_agents_work(desk: Desk) -> None:
    """Neither exports nor totals take it for what the agent proposed."""
    accept_hunks(desk.newest, NODE, [3], root=desk.project)
    reject(desk.newest, NODE, root=desk.project)
    (review,) = group_of_run(desk.project.trace, desk.newest).reviews.values()
    assert verdict_of(review) == "accepted_in_part"
    (job,) = make_report(desk.project, desk.view(desk.newest)).jobs
    assert (job.state, job.written) == ("accepted", "1 of 3 hunks")
    undo(desk.newest, NODE, root=desk.project)
    accept_edited(desk.newest, NODE, edited(desk, "# both", "# a pair"), root=desk.project)
    (review,) = group_of_run(desk.project.trace, desk.newest).reviews.values()
    assert verdict_of(review) == "edited"
