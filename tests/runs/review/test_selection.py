"""A verdict on some of what waits: by the rules that are mended, by what else was changed."""

import hashlib
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from remora.errors import Conflict, UsageError
from remora.operations.base import IN_PART
from remora.runs.continuation.retry import jobs_to_retry
from remora.runs.records.job_view import JobFindings, Proposal
from remora.runs.report.job_findings import findings_left
from remora.runs.review.selection import apply_filter, parse_filter
from remora.usecases.review.accept_part import AS_AGENT, accept_edited, proposed_files
from remora.usecases.review.revert import revert, undo
from remora.usecases.review.verdicts import accept, reject
from remora.workspaces.apply.merge_change_set import FilePatch
from tests.runs.conftest import RULES, UNUSED, Desk, Kept, analyzed

MIXED = 'import os\n\n\ndef load():\n    """Read."""\n    import re\n\n    return f"1"\n'
"""The function mends two rules in two places, the module one."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    files = {"a.py": UNUSED, "b.py": MIXED, "ruff.toml": RULES}
    return analyzed(tmp_path_factory.mktemp("shop"), files)


@pytest.mark.slow
def test_what_is_accepted_or_pending_counts_until_a_part_is_rejected_or_edited(shop: Desk) -> None:
    accept(shop.newest, root=shop.project, every=True, rules=["F401"])
    job = shop.job(shop.newest, "b.py:load")
    assert (job.review.left, job.review.is_whole) == ((2,), True)
    assert not findings_left(job, ())
    reject(shop.newest, "b.py:load", root=shop.project)
    job = shop.job(shop.newest, "b.py:load")
    assert (job.review.written and job.review.written.hunks, job.review.is_whole) == ((1,), False)
    assert {finding.reason for finding in findings_left(job, ())} == {IN_PART}
    undo(shop.newest, "b.py:load", root=shop.project)
    assert shop.job(shop.newest, "b.py:load").review.is_whole


@pytest.mark.slow
def test_a_rule_takes_what_corrects_it_and_nothing_else(shop: Desk) -> None:
    before = shop.tree()
    said = accept(shop.newest, root=shop.project, every=True, rules=["E501"])
    assert (said.accepted, said.conflicts, shop.tree()) == ([], [], before)
    said = accept(shop.newest, "b.py:*", root=shop.project, rules=["F401"])
    assert said.accepted == ["node:b.py:__module__", "node:b.py:load"]
    assert said.skipped == ["b.py:load: still pending: F541 (hunk 2)"]
    fixed = MIXED.replace("import os\n\n\n", "").replace("    import re\n", "")
    assert (shop.root / "b.py").read_text().lstrip("\n") == fixed
    said = accept(shop.newest, root=shop.project, rules=["F401"])
    assert said.accepted == ["node:a.py:__module__", "node:a.py:load"]
    assert said.skipped == ["b.py:load: still pending: F541 (hunk 2)"]
    said = reject(shop.newest, root=shop.project, rules=["F541"])
    assert said.rejected == ["node:b.py:load"]
    assert (shop.job(shop.newest, "b.py:load").review.state, shop.problems()) == ("accepted", [])


class TestConflicts:
    """The user edited a line that one group changes."""

    MINE = MIXED.replace('return f"1"', "return 2")

    def test_the_groups_that_do_not_collide_are_accepted(self, shop: Desk) -> None:
        shop.write({"b.py": self.MINE})
        said = accept(shop.newest, "b.py:load", root=shop.project)
        assert said.accepted == ["node:b.py:load"]
        (conflict,) = said.conflicts
        assert "edited at the same lines" in conflict["detail"]
        assert (shop.root / "b.py").read_text() == self.MINE.replace("    import re\n", "")
        job = shop.job(shop.newest, "b.py:load")
        assert (job.review.state, job.review.conflicts) == ("conflict", (conflict,))
        assert (job.review.written and job.review.written.hunks, job.review.left) == ((1,), (2,))
        shop.write({"b.py": MIXED.replace("    import re\n", "")})
        assert accept(shop.newest, "b.py:load", root=shop.project).conflicts == []
        assert 'return "1"' in (shop.root / "b.py").read_text()
        job = shop.job(shop.newest, "b.py:load")
        assert (job.review.state, job.review.written, shop.problems()) == ("accepted", None, [])

    def test_what_collides_is_written_with_the_agents_lines_and_a_new_attempt_is_refused(
        self, shop: Desk
    ) -> None:
        mine = MIXED.replace('f"1"', 'f"2"')
        shop.write({"b.py": mine})
        accept(shop.newest, "b.py:load", root=shop.project)
        with pytest.raises(UsageError, match="a new attempt would forget"):
            jobs_to_retry(shop.view(shop.newest), "b.py:load")
        where = shop.newest, "b.py:load"
        files = proposed_files(*where, root=shop.project, choose=AS_AGENT)
        assert accept_edited(*where, files, root=shop.project).conflicts == []
        assert (shop.root / "b.py").read_text() == MIXED.replace("    import re\n", "").replace(
            'f"1"', '"1"'
        )
        job = shop.job(shop.newest, "b.py:load")
        assert (job.review.state, job.review.written and job.review.written.edited) == (
            "accepted",
            True,
        )
        assert revert(shop.newest, "b.py:load", root=shop.project).conflicts == []
        assert (shop.root / "b.py").read_text() == mine

    @pytest.mark.parametrize("end", ["\n", ""])
    def test_the_rest_of_a_change_can_be_edited_and_undo_brings_every_line_back(
        self, shop: Desk, end: str
    ) -> None:
        mine = MIXED.replace('f"1"', 'f"2"').rstrip("\n") + end
        path = shop.root / "b.py"
        path.write_bytes(mine.encode())
        accept(shop.newest, "b.py:load", root=shop.project)
        where = shop.newest, "b.py:load"
        files = proposed_files(*where, root=shop.project, choose=AS_AGENT)
        edited = [
            replace(file, theirs=(file.theirs or b"").replace(b'"1"', b'"3"')) for file in files
        ]
        assert accept_edited(*where, edited, root=shop.project).conflicts == []
        assert b'return "3"' in path.read_bytes()
        assert b"import re" not in path.read_bytes()
        assert undo(shop.newest, "b.py:load", root=shop.project).conflicts == []
        assert path.read_bytes() == mine.encode()
        assert shop.job(shop.newest, "b.py:load").review.state == "pending"

    def test_a_line_that_the_user_saves_during_the_edit_hides_no_hunk_from_undo(
        self, shop: Desk
    ) -> None:
        mine = MIXED.replace('f"1"', 'f"2"')
        shop.write({"b.py": mine})
        accept(shop.newest, "b.py:load", root=shop.project)
        where = shop.newest, "b.py:load"
        (file,) = proposed_files(*where, root=shop.project, choose=AS_AGENT)
        shop.write({"b.py": "# note\n" + (file.base or b"").decode()})
        edited = [replace(file, theirs=b"# note\n" + (file.theirs or b""))]
        accept_edited(*where, edited, root=shop.project)
        assert undo(shop.newest, "b.py:load", root=shop.project).conflicts == []
        assert "    import re\n" in (shop.root / "b.py").read_text()

    def test_an_edited_part_is_not_recorded_as_the_agents(self, shop: Desk) -> None:
        shop.write({"b.py": MIXED.replace('f"1"', 'f"2"')})
        accept(shop.newest, "b.py:load", root=shop.project)
        shop.write({"b.py": "import os\n" + "x = 1\n" * 3})
        files = [
            FilePatch(
                path="b.py", base=(shop.root / "b.py").read_bytes(), theirs=b"y = 2\n", mode=0o644
            )
        ]
        with pytest.raises(Conflict, match="the accepted part of the change was edited"):
            accept_edited(shop.newest, "b.py:load", files, root=shop.project)
        assert shop.job(shop.newest, "b.py:load").review.left == (2,)

    def test_nothing_is_accepted_if_all_groups_collide(self, shop: Desk) -> None:
        mine = self.MINE.replace("import re", "import json")
        shop.write({"b.py": mine})
        said = accept(shop.newest, "b.py:load", root=shop.project)
        assert (said.accepted, len(said.conflicts)) == ([], 1)
        assert (shop.root / "b.py").read_text() == mine
        assert shop.job(shop.newest, "b.py:load").review.left == ()

    def test_on_a_branch_the_others_are_committed(self, shop: Desk) -> None:
        shop.write({"b.py": self.MINE})
        shop.commit()
        said = accept(shop.newest, "b.py:load", root=shop.project, git_branch="fixes")
        assert (said.accepted, len(said.conflicts)) == (["node:b.py:load"], 1)
        assert shop.git("show", "fixes:b.py") == self.MINE.replace("    import re\n", "").strip()


@pytest.mark.parametrize("rules", [["f541", "F401"], ["F", "C9", "PL"]])
def test_several_rules_and_beginnings_of_codes_may_be_named(shop: Desk, rules: list[str]) -> None:
    """Such as C901; PLC, PLE, PLR and PLW."""
    said = accept(shop.newest, "b.py:load", root=shop.project, rules=rules)
    assert said.accepted == ["node:b.py:load"]


def test_what_is_not_linted_has_a_name(shop: Desk) -> None:
    view = shop.view(shop.newest)
    job = view.jobs[0]
    typed = replace(job, findings=JobFindings(before={"missing annotation": 2}, after={}))
    narrow = parse_filter(["Missing  annotation"], [])
    view = replace(view, jobs=(typed, *view.jobs[1:]))
    kept, left = apply_filter(shop.project, view, view.jobs, narrow)
    assert kept == [typed]
    assert left[0].startswith("a.py:load: skipped because it fixes F401")
    with pytest.raises(UsageError, match="no rule missing anotation") as caught:
        apply_filter(shop.project, view, view.jobs, parse_filter(["missing anotation"], []))
    assert "(did you mean 'missing annotation'?)" in caught.value.message


@pytest.mark.parametrize("act", [accept, reject])
def test_a_mistyped_rule_is_wrong_usage(shop: Desk, act: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match="no rule FO41") as caught:
        act(shop.newest, root=shop.project, every=True, rules=["F401", "FO41"])
    assert "(did you mean 'F401'?)" in caught.value.message


def test_reject_is_narrowed_too(shop: Desk) -> None:
    said = reject(shop.newest, root=shop.project, rules=["F401", "F541"], only_if=["verified"])
    assert len(said.rejected) == 4


def test_verified_is_what_met_no_conflict(shop: Desk) -> None:
    shop.write({"a.py": UNUSED.replace("import re", "import json")})
    accept(shop.newest, "a.py:load", root=shop.project)
    said = accept(shop.newest, root=shop.project, only_if=["verified"])
    assert "a.py:load: skipped because it is not verified" in said.skipped
    assert "node:a.py:load" not in said.accepted


def test_docstring_only_is_what_leaves_the_code_as_it_was(shop: Desk) -> None:
    before, after = UNUSED.encode(), UNUSED.replace("Read.", "Read it.").encode()
    for content in (before, after):
        shop.project.trace.objects.put(content)
    job = shop.view(shop.newest).jobs[0]
    (change,) = job.proposal.changes
    names = [hashlib.sha256(content).hexdigest() for content in (before, after)]
    documented = replace(
        job, proposal=Proposal(changes=(replace(change, before=names[0], after=names[1]),))
    )
    only = parse_filter([], ["verified, docstring-only"])
    view = shop.view(shop.newest)
    kept, left = apply_filter(shop.project, view, [documented, job], only)
    assert kept == [documented]
    assert left == ["a.py: skipped because it is not docstring-only"]
    stored = shop.project.trace.objects.folder / names[1][:2] / names[1]
    stored.unlink()
    stored.mkdir()
    assert apply_filter(shop.project, view, [documented], only)[0] == []


@pytest.mark.parametrize(("rules", "conditions"), [(["F401; rm"], []), ([], ["tested"])])
def test_what_is_not_known_is_wrong_usage(rules: list[str], conditions: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_filter(rules, conditions)


def test_a_part_that_was_rejected_is_pending_again_after_revert(shop: Desk) -> None:
    reject(shop.newest, "b.py:load", root=shop.project, rules=["F401"])
    job = shop.job(shop.newest, "b.py:load")
    assert (job.review.state, job.review.verdict, job.review.left) == ("pending", "rejected", (2,))
    assert revert(shop.newest, "b.py:load", root=shop.project).reopened == ["node:b.py:load"]
    job = shop.job(shop.newest, "b.py:load")
    assert (job.review.verdict, job.review.left) == ("", ())
