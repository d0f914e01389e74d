"""A verdict is withdrawn: the change is pending again, and nothing of it is in the files."""

from typing import Any

import pytest

from remora.errors import DiskError, NotFound, UsageError
from remora.exports.run_group import group_of_run
from remora.runs.records.run_listing import read_run_line
from remora.runs.review.journals import complete_journals, recovery_text
from remora.usecases.review.revert import revert, revert_change_set, undo
from remora.usecases.review.verdicts import accept, reject
from remora.workspaces.apply.file_swap import FileSwapper
from tests.runs.conftest import Desk
from tests.runs.review.conftest import verdicts


@pytest.mark.slow
def test_what_was_accepted_is_removed_and_pending_again(shop: Desk) -> None:
    before = shop.tree()
    accept(shop.newest, "a.py:load", root=shop.project)
    done = undo(shop.newest, "a.py:load", root=shop.project)
    assert (list(done.reopened), done.conflicts, shop.tree()) == (["node:a.py:load"], [], before)
    assert verdicts(shop) == ["accepted", "reopened"]
    assert {job.review.state for job in done.view.jobs} == {"pending"}
    assert accept(shop.newest, "a.py:load", root=shop.project).accepted == ["node:a.py:load"]
    assert shop.problems() == []


@pytest.mark.parametrize("verdict", ["rejected", "reverted"])
def test_what_was_dismissed_is_pending_again(shop: Desk, verdict: str) -> None:
    before = shop.tree()
    if verdict == "rejected":
        reject(shop.newest, "a.py:load", root=shop.project, feedback="no")
    else:
        accept(shop.newest, "a.py:load", root=shop.project)
        revert(shop.newest, "a.py:load", root=shop.project)
    undo(shop.newest, "a.py:load", root=shop.project)
    assert (shop.tree(), verdicts(shop)[-2:]) == (before, [verdict, "reopened"])
    line = read_run_line(shop.project.trace.existing_run(shop.newest))
    assert line is not None
    assert (line[0].pending, line[0].rejected, line[0].reverted) == (4, 0, 0)
    assert not group_of_run(shop.project.trace, shop.newest).reviews


def test_a_commit_on_a_branch_stays_and_nothing_is_undone_without_a_verdict(shop: Desk) -> None:
    with pytest.raises(NotFound, match=r"no verdict to undo \(pending\)"):
        undo(shop.newest, "a.py:load", root=shop.project)
    shop.commit()
    accept(shop.newest, "a.py:load", root=shop.project, git_branch="fixes")
    with pytest.raises(UsageError, match="was committed to the branch fixes"):
        undo(shop.newest, "a.py:load", root=shop.project)


def test_an_edit_of_the_same_place_is_a_conflict_and_the_verdict_stays(shop: Desk) -> None:
    accept(shop.newest, "a.py:load", root=shop.project)
    mine = (shop.root / "a.py").read_text().replace('    """Read."""\n\n', "    x = 1\n")
    shop.write({"a.py": mine})
    done = undo(shop.newest, "a.py:load", root=shop.project)
    assert (list(done.reopened), len(done.conflicts)) == ([], 1)
    assert ((shop.root / "a.py").read_text(), verdicts(shop)) == (mine, ["accepted"])


def test_an_undo_that_was_killed_is_completed(shop: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shop.tree()
    accept(shop.newest, "a.py:load", root=shop.project)

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FileSwapper, "put_in_place", killed)
        with pytest.raises(KeyboardInterrupt):
            undo(shop.newest, "a.py:load", root=shop.project)
    left = complete_journals(shop.project)
    assert left.outcome == "completed"
    assert "`revert` was interrupted; its changes are now complete: a.py" in recovery_text(left)
    assert shop.tree() == before
    assert {job.review.state for job in shop.view(shop.newest).jobs} == {"pending"}


def test_what_was_undone_before_an_error_is_returned_with_it(
    shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(shop.newest, root=shop.project, every=True)
    first, second, *_ = shop.view(shop.newest).jobs
    full = DiskError("full")

    def fails_at_first(project: Any, stream: Any, change: Any, *args: Any) -> Any:
        if change.job.agent_id == first.agent_id:
            raise full
        return revert_change_set(project, stream, change, *args)

    monkeypatch.setattr("remora.usecases.review.revert.revert_change_set", fails_at_first)
    done = undo(shop.newest, first.agent_id, second.agent_id, root=shop.project)
    assert (done.error, list(done.reopened)) == (full, [second.node_id])
    assert [job.review.state for job in done.view.jobs][:2] == ["accepted", "pending"]
    rest = revert(shop.newest, root=shop.project)
    assert (rest.error, len(rest.reverted)) == (full, 2)
    with pytest.raises(DiskError):
        undo(shop.newest, first.agent_id, root=shop.project)
