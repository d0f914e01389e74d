"""Verdicts: a change reaches the user's files whole, merged, verified, or not at all."""

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.errors import DiskError, NotFound, StreamDamaged, StreamLocked, UsageError
from remora.memory.events import Review
from remora.runs.records.change_set_files import job_diff, patches_of, reverse_patches
from remora.runs.records.run_stream import open_run
from remora.runs.review.accepted_changes import accept_one
from remora.runs.review.apply_changes import secrets_in
from remora.runs.review.journals import complete_journals
from remora.tools.tree import ToolTree
from remora.usecases.review.verdicts import accept, reject
from remora.workspaces.apply.merge_change_set import FilePatch, prepare_changes
from tests.runs.conftest import RULES, UNUSED, Desk
from tests.runs.review.test_recheck import MODULE, agent
from tests.runs.review.test_recheck import analyzed as analyzed_by_own

MANY = "import os\n\n\n" + "\n\n".join(
    f'def f{n}():\n    """Do {n}."""\n    import re\n\n    return {n}\n' for n in range(3)
)


def reviews(desk: Desk, run_id: str) -> list[Review]:
    return desk.payloads(run_id, Review)


def states(desk: Desk, run_id: str) -> dict[str, str]:
    return {job.node_id.removeprefix("node:"): job.review.state for job in desk.view(run_id).jobs}


class TestAccept:
    @pytest.mark.slow
    def test_the_verdict_binds_what_was_looked_at_and_written(self, shop: Desk) -> None:
        run_id = shop.newest
        (shop.root / "a.py").chmod(0o750)
        before = shop.tree()
        job = next(job for job in shop.view(run_id).jobs if job.node_id == "node:a.py:load")
        said = accept(run_id, "a.py:load", root=shop.project)
        assert (said.accepted, said.conflicts) == (["node:a.py:load"], [])
        expected = UNUSED.replace("    import re\n", "").encode()
        assert shop.tree() == {**before, "a.py": expected}
        assert (shop.root / "a.py").stat().st_mode & 0o777 == 0o750, "files keep their mode"
        assert states(shop, run_id) == {
            "a.py:__module__": "pending", "a.py:load": "accepted",
            "b.py:__module__": "pending", "b.py:load": "pending",
        }  # fmt: skip
        (review,) = reviews(shop, run_id)
        assert (review.verdict, review.surface) == ("accepted", "cli")
        assert review.agent_id == job.agent_id
        assert review.change_set_sha256 == job.proposal.sha256
        assert review.head == job.stream.head
        assert shop.view(run_id).head == said.head
        assert shop.problems() == []
        with pytest.raises(NotFound, match=r"\(accepted\)"):
            accept(run_id, "a.py:load", root=shop.project)

    def test_all_jobs_of_one_file_and_its_line_ends_stay(self, desk: Desk) -> None:
        desk.write({"many.py": MANY.replace("\n", "\r\n"), "ruff.toml": RULES})
        run_id = desk.analyze()
        said = accept(run_id, root=desk.project, every=True)
        assert (len(said.accepted), said.conflicts) == (4, [])
        text = (desk.root / "many.py").read_bytes().decode()
        assert "import" not in text
        assert all(f"    return {n}\r\n" in text for n in range(3))
        assert text.count("\n") == text.count("\r\n")
        assert ToolTree(desk.root).ruff.check(["many.py"], unsafe=True) == []
        compile(text, "many.py", "exec")
        assert complete_journals(desk.project).outcome == "none"
        assert [p.name for p in desk.root.rglob(".remora-*")] == []

    @pytest.mark.slow
    def test_a_mode_that_an_agent_changed_is_neither_shown_nor_written(self, shop: Desk) -> None:
        job = shop.view(shop.newest).jobs[0]
        (change,) = job.proposal.changes
        flipped = msgspec.structs.replace(change, mode=0o755)
        proposal = msgspec.structs.replace(job.proposal, changes=(flipped,))
        job = msgspec.structs.replace(job, proposal=proposal)
        shown = job_diff(shop.project, job)
        assert shown.startswith("--- a/a.py")
        assert "mode" not in shown
        (shop.root / "a.py").chmod(0o640)
        (write,) = prepare_changes(shop.root, patches_of(shop.project, job)).writes
        assert write.mode == 0o640
        restored = reverse_patches(patches_of(shop.project, job))
        (shop.root / "a.py").write_bytes(write.result or b"")
        (write,) = prepare_changes(shop.root, restored).writes
        assert write.mode == 0o640

    def test_a_conflict_may_be_tried_again(self, shop: Desk) -> None:
        run_id = shop.newest
        shop.write({"a.py": UNUSED.replace("import re", "import json")})
        assert accept(run_id, "a.py:load", root=shop.project).conflicts
        shop.write({"a.py": UNUSED})
        assert accept(run_id, "a.py:load", root=shop.project).accepted == ["node:a.py:load"]
        assert [review.verdict for review in reviews(shop, run_id)] == ["conflict", "accepted"]

    @pytest.mark.slow
    def test_new_findings_of_a_merge_are_reported_if_it_was_written(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The user no longer uses a module that the agent imports."""
        desk.write({"mod.py": MODULE.replace("return 1", "return os.name"), "ruff.toml": RULES})
        agent(desk, "parses", "mod.py", 1, "import os\n\n\ndef load(")
        run_id = analyzed_by_own(desk)
        desk.write({"mod.py": MODULE})
        conflict = {"node_id": "node:mod.py:load", "path": "mod.py", "detail": "saved"}
        with monkeypatch.context() as patched:
            patched.setattr(
                "remora.runs.review.accepted_changes.write_change_set", lambda *_: [conflict]
            )
            done = accept(run_id, "mod.py:load", root=desk.project)
        assert (done.conflicts, done.notes, done.new_findings) == ([conflict], [], [])
        done = accept(run_id, "mod.py:load", root=desk.project)
        assert done.accepted == ["node:mod.py:load"], done.conflicts
        assert done.new_findings == ["mod.py:1: new finding F401 `os` imported but unused"]
        assert done.notes == done.new_findings


def test_what_was_accepted_before_an_error_is_returned_with_it(
    shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error at the first is raised."""
    error, failing = DiskError("full"), "node:b.py:load"

    def accept_or_fail(project: Any, stream: Any, change: Any, *args: Any) -> Any:
        if change.job.node_id == failing:
            raise error
        return accept_one(project, stream, change, *args)

    monkeypatch.setattr("remora.usecases.review.verdicts.accept_one", accept_or_fail)
    done = accept(shop.newest, root=shop.project, every=True)
    assert done.error is error
    assert len(done.accepted) == 3
    assert states(shop, shop.newest)["b.py:load"] == "pending"
    with pytest.raises(DiskError, match="full"):
        accept(shop.newest, root=shop.project, every=True)


class TestChosen:
    def test_names_mean_nodes_that_wait_in_a_run_that_has_ended(self, shop: Desk) -> None:
        run_id = shop.newest
        with pytest.raises(UsageError, match="specify nodes to accept, or use --all") as caught:
            accept(run_id, root=shop.project)
        assert "a.py:load" in caught.value.hint
        with pytest.raises(UsageError, match="specify nodes to reject"):
            reject(run_id, root=shop.project)
        with pytest.raises(NotFound) as missing:
            accept(run_id, "a.py:lod", root=shop.project)
        assert "a.py:load" in missing.value.hint
        before = shop.tree()
        with open_run(shop.project, run_id), pytest.raises(StreamLocked):
            accept(run_id, root=shop.project, every=True)
        assert shop.tree() == before
        said = accept(run_id, "load", "a.py:load", "node:b.py:load", root=shop.project)
        assert sorted(said.accepted) == ["node:a.py:load", "node:b.py:load"]
        assert len(reviews(shop, run_id)) == 2


class TestReject:
    def test_it_is_recorded_with_its_reason_and_writes_nothing(self, shop: Desk) -> None:
        run_id = shop.newest
        before = shop.tree()
        said = reject(run_id, "a.py:load", root=shop.project, feedback="keep it")
        assert said.rejected == ["node:a.py:load"]
        (review,) = reviews(shop, run_id)
        assert (review.verdict, review.feedback) == ("rejected", "keep it")
        assert shop.tree() == before
        assert states(shop, run_id)["a.py:load"] == "rejected"


class TestMoved:
    """The user's file is not what it was when the run began."""

    def accepted(self, desk: Desk, files: Mapping[str, str | None]) -> tuple[list[str], str]:
        run_id = desk.newest
        desk.write(files)
        before = desk.tree()
        said = accept(run_id, "a.py:load", root=desk.project)
        if said.conflicts:
            assert desk.tree() == before, "a conflict writes nothing"
            (review,) = reviews(desk, run_id)
            assert review.verdict == "conflict"
            assert review.detail == said.conflicts
            assert states(desk, run_id)["a.py:load"] == "conflict"
            assert desk.problems() == []
            return said.accepted, said.conflicts[0]["detail"]
        return said.accepted, (desk.root / "a.py").read_text()

    def test_an_edit_elsewhere_is_merged_and_what_it_replaces_is_kept(self, shop: Desk) -> None:
        edited = UNUSED + "\n\ndef new():\n    return 9\n"
        _, text = self.accepted(shop, {"a.py": edited})
        assert text == edited.replace("    import re\n", "")
        digest = sha256(edited.encode()).hexdigest()
        assert shop.project.trace.objects.get(digest) == edited.encode()

    def test_the_same_edit_is_none(self, shop: Desk) -> None:
        done = UNUSED.replace("    import re\n", "")
        assert self.accepted(shop, {"a.py": done}) == (["node:a.py:load"], done)

    def test_a_deleted_file_is_a_conflict(self, shop: Desk) -> None:
        assert self.accepted(shop, {"a.py": None})[0] == []
        assert not (shop.root / "a.py").exists()

    def test_a_file_that_became_a_link_is_a_conflict(self, shop: Desk) -> None:
        run_id = shop.newest
        (shop.root / "a.py").unlink()
        (shop.folder / "secret.py").write_text(UNUSED)
        (shop.root / "a.py").symlink_to(shop.folder / "secret.py")
        assert accept(run_id, "a.py:load", root=shop.project).conflicts
        assert (shop.folder / "secret.py").read_text() == UNUSED

    def test_a_merge_that_no_longer_parses_is_a_conflict(self, shop: Desk) -> None:
        """Each side alone is fine, or at least the user's own doing."""
        broken = UNUSED + "\n\ndef broken(:\n    pass\n"
        _, detail = self.accepted(shop, {"a.py": broken})
        assert detail.startswith("the merged file does not parse: a.py: line")

    def test_one_of_several_may_conflict(self, shop: Desk) -> None:
        run_id = shop.newest
        shop.write({"a.py": UNUSED.replace("import re", "import json")})
        said = accept(run_id, root=shop.project, every=True)
        assert [conflict["node_id"] for conflict in said.conflicts] == ["node:a.py:load"]
        assert len(said.accepted) == 3
        assert all(set(c) == {"node_id", "path", "detail"} for c in said.conflicts)


class TestAround:
    @pytest.mark.parametrize(
        ("put", "message"),
        [(None, "is missing"), (os.mkfifo, "is a link or the wrong type of file")],
    )
    def test_a_change_set_with_a_missing_content_is_left_out_and_named(
        self, put: Callable[[Path], None] | None, message: str, shop: Desk
    ) -> None:
        job = next(each for each in shop.view(shop.newest).jobs if each.node_id == "node:a.py:load")
        digest = str(job.changes[0].after)
        content = shop.project.trace.objects.folder / digest[:2] / digest
        content.unlink()
        if put is not None:
            put(content)
        done = accept(shop.newest, root=shop.project, every=True)
        assert done.accepted == ["node:a.py:__module__", "node:b.py:__module__"]
        assert all(digest in problem and message in problem for problem in done.damaged)
        names = [problem.partition(": ")[0] for problem in done.damaged]
        assert names == ["a.py:load", "b.py:load"], "both have the same content"
        with pytest.raises(StreamDamaged, match=f"a.py:load: .* {message}"):
            accept(shop.newest, "a.py:load", root=shop.project)


def test_no_placeholder_is_accepted_in_the_place_of_a_secret() -> None:
    mark = b"key = '<secret:jwt:0123456789ab>'\n"
    kept = FilePatch(path="a.py", base=mark, theirs=mark * 2, mode=0o644)
    lost = FilePatch(path="b.py", base=b"key = 1\n", theirs=mark, mode=0o644)
    assert [conflict.path for conflict in secrets_in([kept, lost])] == ["b.py"]
