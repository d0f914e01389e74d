"""`accept` with its options, `revert`, `report` and `clean`, as their user has them."""

import json
import re
import shutil

import pytest

from tests.cli.conftest import git, on_terminal, tree
from tests.cli.review.four_changes import Four
from tests.cli.review.test_review_session import Desk


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Four:
    return Four(tmp_path_factory.mktemp("commands"))


@pytest.fixture
def desk(four: Four) -> Desk:
    four.again()
    return Desk(four.remora, four.root)


class TestAccept:
    @pytest.mark.slow
    def test_a_terminal_shows_how_far_it_is(self, desk: Desk) -> None:
        seen = on_terminal(desk.remora, desk.root, "accept", "--untested", "last", "--all")
        assert re.search(r"changes .*4/4", seen)
        # it is gone at the end: the summary stands alone
        assert "changes " not in seen[seen.index("accepted 4 changes") :]

    @pytest.mark.slow
    def test_what_cannot_be_accepted_is_refused(self, desk: Desk) -> None:
        branch = git(desk.root, "branch", "--show-current").strip()
        for words, said in (
            ((), "--rule"),
            (("--if", "tested"), "verified, docstring-only"),
            (("--all", "--git-branch", branch), "is checked out"),
        ):
            error = desk("accept", "--untested", "last", *words, "--json").error
            assert error["code"] == "usage_error"
            assert said in error["message"] + error["hint"]
        assert desk("report", "nope", "--json").code == 1

    def test_code_that_no_test_ran_with_needs_an_option_or_an_answer(self, desk: Desk) -> None:
        before = tree(desk.root)
        for words in (["--all"], ["a.py:load", "--hunk", "1"]):
            done = desk("accept", "last", *words)
            assert done.code == 1
            assert "not accepted:" in done.out
            assert "conflict" not in done.out
            assert "  a.py:load\n    a.py: no test ran with it (" in done.out
            assert "; --untested accepts it" in done.out
        asked = on_terminal(desk.remora, desk.root, "accept", "last", "--all", typed="n\n", code=1)
        assert "No test ran with a.py, a.py:load" in asked.replace("a.py:module", "a.py")
        assert tree(desk.root) == before
        seen = on_terminal(desk.remora, desk.root, "accept", "last", "--all", typed="y\n")
        assert "accepted 4 changes" in seen

    def test_what_is_left_alone_is_reported_and_a_branch_gets_the_commits(self, desk: Desk) -> None:
        before = tree(desk.root)
        words = ("accept", "--untested", "last", "--all", "--if", "verified,docstring-only")
        done = desk(*words)
        assert done.code == 0
        assert "no such change is pending" in done.out
        assert done.err == "skipped 4 changes or parts that the options leave out (-v says why)\n"
        verbose = desk(*words, "-v").err
        assert "a.py:load: skipped because it is not docstring-only" in verbose
        assert verbose.count("skipped because") == 4
        assert "recorded" not in done.out, "there is no verdict to keep a head for"
        done = desk("accept", "--untested", "last", "a.py:load", "--git-branch", "fixes", "--json")
        assert (done.code, done.document["branch"]) == (0, "fixes")
        message = git(desk.root, "log", "-1", "--format=%B", "fixes").rstrip("\n")
        text, _, trailer = message.rpartition("\n\n")
        assert text == "steps: a.py:load\n\nFixes F401."
        run_id, number = done.document["run_id"], done.document["head"]["count"] - 1
        assert trailer.startswith(f"Remora-Trace: {run_id} {number} ")
        assert tree(desk.root) == before
        assert git(desk.root, "status", "--porcelain") == ""
        shown = desk("show", "last", "--json").document["jobs"]
        assert [job["branch"] for job in shown] == [None, "fixes", None, None]


class TestRevert:
    def test_files_are_as_they_were_but_for_a_conflict(self, desk: Desk) -> None:
        before = tree(desk.root)
        accepted = desk("accept", "--untested", "last", "--all")
        assert (accepted.code, accepted.err) == (0, "")
        mine = (desk.root / "a.py").read_bytes()
        (desk.root / "a.py").write_text("x = 1\n")
        done = desk("revert", "last", "a.py:load")
        assert done.code == 1
        assert "1 conflict, not reverted:" in done.out
        assert (desk.root / "a.py").read_text() == "x = 1\n"
        (desk.root / "a.py").write_bytes(mine)
        done = desk("revert", "last", "--json")
        assert (done.code, len(done.document["reverted"])) == (0, 4)
        assert set(done.document) == {"run_id", "reverted", "reopened", "conflicts", "head"}
        assert tree(desk.root) == before
        assert "reverted" in desk("show", "last").out
        assert "not shown: 4 reverted" in desk("diff", "last").err
        again = desk("accept", "--untested", "last", "--all")
        assert again.code == 0
        assert "`remora analyze` proposes them again" in again.out

    @pytest.mark.slow
    def test_a_run_of_another_user_is_refused(self, desk: Desk) -> None:
        desk("reject", "last", "a.py:load")
        desk("accept", "--untested", "last", "--all")
        assert desk("revert", "last", "b.py:load").out.startswith(
            "reverted 1 change:\n  b.py:load\n"
        )
        shutil.rmtree(desk.remora.home / "state")
        assert desk("revert", "last", "--json").code == 2
        assert (
            "1 rejection stays; to withdraw it: `remora revert"
            in desk("revert", "last", "--trust-run").out
        )


def test_each_form_of_a_report_goes_to_stdout(desk: Desk) -> None:
    begins = {"md": "## Remora: 4 of 4", "json": "{", "sarif": "{"}
    for form, begin in begins.items():
        done = desk("report", "last", "--format", form)
        assert (done.code, done.err, done.out.startswith(begin)) == (0, "", True)
    document = desk("report", "last", "--json").document
    assert document == json.loads(desk("report", "last", "--format", "json").out)
    assert desk("report", "last", "--json", "--format", "sarif").code == 2


class TestClean:
    @pytest.mark.slow
    def test_it_shows_then_frees(self, desk: Desk) -> None:
        slots = next((desk.remora.home / "cache" / "remora" / "roots").glob("*/slots"))
        refused = desk("clean")
        assert (refused.code, "--yes" in refused.err) == (2, True)
        assert list(slots.glob("slot-?"))
        said = desk("clean", "--dry-run").out
        assert re.search(r"^ +\d+ KB  \d private cop(y|ies)$", said, re.MULTILINE)
        shown = desk("clean", "--dry-run", "--json").document
        assert shown["dry_run"]
        assert [kept["run_id"] for kept in shown["kept"]]
        freed = desk("clean", "--yes", "--json").document
        assert freed["removed"] == shown["removed"]
        assert freed["bytes"] == sum(found["bytes"] for found in freed["removed"]) > 0
        assert "nothing to free" in desk("clean", "--yes").out
        assert not desk("clean", "--yes", "--json").document["dry_run"]
        assert desk("accept", "--untested", "last", "--all").code == 0, (
            "pending changes are still complete"
        )
