"""Accepted changes as commits on a branch: files, index and hooks of the user are left alone."""

from hashlib import sha256
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from remora.errors import OutsideError, UsageError
from remora.ids import display_name
from remora.memory.events import Review
from remora.runs.records.results import own_run
from remora.runs.records.run_stream import RunStream
from remora.runs.review import git_branch
from remora.runs.review.accepted_changes import Verdicts
from remora.runs.review.git_branch import open_branch, write_tree
from remora.runs.review.ready_changes import ReadyChange
from remora.usecases.review.revert import revert
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import RULES, UNUSED, Desk, Kept

ONE = "pkg/a.py:load"
DONE = UNUSED.replace("    import re\n", "")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("shop"))
    desk.write({"pkg/a.py": UNUSED, "pkg/b.py": UNUSED, "ruff.toml": RULES, "run.sh": "true\n"})
    (desk.root / "pkg" / "b.py").chmod(0o755)
    desk.commit()
    desk.analyze()
    return Kept(desk)


@pytest.fixture
def shop(kept: Kept) -> Desk:
    return kept.again()


def onto(desk: Desk, name: str = "fixes", wanted: str = "") -> Verdicts:
    """Accept a function, or everything, onto a branch."""
    nodes = [wanted] if wanted else []
    return accept(desk.newest, *nodes, root=desk.project, git_branch=name, every=not wanted)


def snapshot(desk: Desk) -> tuple[dict[str, bytes], bytes, str]:
    """All of the user's that must not change."""
    head = desk.git("rev-parse", "HEAD") + desk.git("symbolic-ref", "HEAD")
    return desk.tree(), (desk.root / ".git" / "index").read_bytes(), head


class TestCommits:
    def test_one_for_each_change_set_with_its_trailer(self, shop: Desk) -> None:
        before = snapshot(shop)
        done = onto(shop)
        assert len(done.accepted) == 4
        assert snapshot(shop) == before
        log = shop.git("log", "--reverse", "--format=%an %ae|%s|%(trailers:key=Remora-Trace,valueonly)", "main..fixes")  # fmt: skip
        lines = [line for line in log.splitlines() if line]
        events = shop.run_events(shop.newest)
        heads = [last for last, event in pairwise(events) if event.type == Review.type]
        assert lines == [
            f"Ann ann@example.org|lint: {display_name(job.node_id)}|"
            f"{shop.newest} {last.seq + 1} {last.hash}"
            for job, last in zip(shop.view(shop.newest).jobs, heads, strict=True)
        ]
        assert shop.problems() == []
        assert "import" not in shop.git("show", "fixes:pkg/a.py")
        modes = shop.git("ls-tree", "-r", "fixes").splitlines()
        assert [line.split()[0] for line in modes] == ["100644", "100755", "100644", "100644"]

    def test_it_continues_where_it_contains_head(self, shop: Desk) -> None:
        onto(shop, wanted=ONE)
        onto(shop, wanted="pkg/b.py:load")
        assert shop.git("rev-list", "--count", "main..fixes") == "2"

    @pytest.mark.slow
    def test_what_the_user_has_not_committed_stays_out(self, shop: Desk) -> None:
        mine = UNUSED + "\n\ndef mine():\n    return 1\n"
        shop.write({"pkg/a.py": mine})
        shop.analyze()
        onto(shop, wanted=ONE)
        assert shop.git("show", "fixes:pkg/a.py") + "\n" == DONE
        assert (shop.root / "pkg/a.py").read_text() == mine

    def test_the_root_may_be_a_folder_of_the_repository(self, shop: Desk) -> None:
        from remora.workspaces.apply.merge_change_set import FilePatch, prepare_changes

        root = shop.root / "pkg"
        branch = open_branch(root, "fixes")
        patch = FilePatch(path="a.py", base=UNUSED.encode(), theirs=DONE.encode(), mode=0o644)
        tree = write_tree(branch, prepare_changes(root, [patch], branch.read_file).writes)
        assert shop.git("show", f"{tree}:pkg/a.py") + "\n" == DONE

    @pytest.mark.slow
    def test_line_ends_are_as_they_are_committed(self, desk: Desk) -> None:
        desk.write({"a.py": UNUSED.replace("\n", "\r\n"), "ruff.toml": RULES, ".gitattributes": "*.py text eol=crlf\n"})  # fmt: skip
        desk.commit()
        desk.analyze()
        assert len(onto(desk).accepted) == 2
        assert b"\r" not in desk.git("cat-file", "blob", "fixes:a.py").encode()

    def test_no_hook_runs_and_a_lock_or_a_missing_file_of_the_users_is_in_nobodys_way(
        self, shop: Desk
    ) -> None:
        for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
            hook = shop.root / ".git" / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\ntouch {shop.folder}/ran\nexit 1\n")
            hook.chmod(0o755)
        (shop.root / ".git" / "index.lock").touch()
        (shop.root / "pkg/a.py").unlink()
        done = onto(shop, wanted=ONE)
        assert (len(done.accepted), done.created) == (1, ())
        assert not (shop.folder / "ran").exists()

    def test_it_is_not_in_the_files_and_cannot_be_reverted_there(self, shop: Desk) -> None:
        onto(shop, wanted=ONE)
        undone = revert(shop.newest, root=shop.project)
        assert (undone.reverted, {job.review.branch for job in undone.view.jobs}) == (
            [],
            {"fixes", None},
        )
        with pytest.raises(UsageError, match="committed to the branch fixes"):
            revert(shop.newest, "pkg/a.py:load", root=shop.project)


class TestRepositories:
    """Of any kind: what is committed is what git itself would have committed."""

    def repository(self, desk: Desk, *begin: str, a: str = UNUSED) -> Desk:
        desk.git("init", "-q", "-b", "main", *begin)
        desk.git("config", "user.name", "Ann")
        desk.git("config", "user.email", "ann@example.org")
        desk.write({"pkg/a.py": a, "ruff.toml": RULES})
        desk.commit()
        return desk

    def gits_own(self, desk: Desk, text: str) -> str:
        """The tree that git makes of the same files."""
        place = desk.folder / "other"
        desk.git("worktree", "add", "-q", "--detach", str(place))
        (place / "pkg" / "a.py").write_bytes(text.encode())
        desk.git("-C", str(place), "add", "-A")
        return desk.git("-C", str(place), "write-tree")

    @pytest.mark.slow
    def test_a_change_that_is_already_on_the_branch_needs_no_commit(self, shop: Desk) -> None:
        onto(shop, wanted=ONE)
        tip = shop.git("rev-parse", "fixes")
        shop.analyze()
        again = onto(shop, wanted=ONE)
        assert len(again.accepted) == 1
        assert (again.already, again.branch) == (again.accepted, "fixes")
        assert shop.git("rev-parse", "fixes") == tip

    def test_it_begins_at_head_where_it_is_merged_or_head_is_detached(self, shop: Desk) -> None:
        shop.git("branch", "fixes")
        shop.git("switch", "-q", "--detach")
        shop.git("commit", "-q", "--allow-empty", "-m", "on")
        head = shop.git("rev-parse", "HEAD")
        assert len(onto(shop, wanted=ONE).accepted) == 1
        assert shop.git("rev-list", "--count", "HEAD..fixes") == "1"
        assert shop.git("rev-parse", "HEAD") == head

    @pytest.mark.parametrize(
        ("setting", "value"),
        [
            pytest.param("core.fileMode", "false", marks=pytest.mark.slow),
            pytest.param("core.autocrlf", "input", marks=pytest.mark.slow),
            ("core.autocrlf", "true"),
        ],
    )
    def test_git_configuration_applies(self, desk: Desk, setting: str, value: str) -> None:
        self.repository(desk).git("config", setting, value)
        (desk.root / "pkg" / "a.py").chmod(0o755)
        ends = "\r\n" if value == "true" else "\n"
        desk.write({"pkg/a.py": UNUSED.replace("\n", ends)})
        desk.analyze()
        assert len(onto(desk).accepted) == 2
        done = UNUSED.replace("    import re\n", "").replace("import os\n", "")
        if setting == "core.autocrlf":
            desk.git("config", "core.fileMode", "false")
        assert desk.git("rev-parse", "fixes^{tree}") == self.gits_own(
            desk, done.replace("\n", ends)
        )

    @pytest.mark.slow
    def test_hashes_may_be_longer(self, desk: Desk) -> None:
        self.repository(desk, "--object-format=sha256").analyze()
        assert len(onto(desk).accepted) == 2
        assert len(desk.git("rev-parse", "fixes")) == 64
        assert "import" not in desk.git("show", "fixes:pkg/a.py")

    @pytest.mark.slow
    def test_a_sparse_checkout_keeps_what_is_not_there(self, desk: Desk) -> None:
        desk.write({"far/b.py": "x = 1\n"})
        self.repository(desk).git("sparse-checkout", "set", "--cone", "--sparse-index", "pkg")
        assert not (desk.root / "far").exists()
        desk.analyze()
        assert len(onto(desk).accepted) == 2
        assert desk.git("show", "fixes:far/b.py") == "x = 1"
        assert desk.git("diff", "--name-only", "main", "fixes") == "pkg/a.py"

    @pytest.mark.parametrize(
        "kind", ["worktree", pytest.param("submodule", marks=pytest.mark.slow)]
    )
    def test_git_may_lie_elsewhere(self, desk: Desk, kind: str) -> None:
        """`.git` is a file then."""
        self.repository(desk)
        place = Desk(desk.folder / "second")
        place.root.rmdir()
        if kind == "worktree":
            desk.git("worktree", "add", "-q", "-b", "here", str(place.root))
        else:
            place.root = desk.root / "sub"
            words = "-c", "protocol.file.allow=always", "submodule", "add", "-q"
            desk.git(*words, str(desk.root), "sub")
            place.git("config", "user.name", "Ann")
            place.git("config", "user.email", "ann@example.org")
        assert (place.root / ".git").is_file()
        place.analyze()
        assert len(onto(place).accepted) == 2
        assert place.git("rev-list", "--count", "HEAD..fixes") == "2"
        assert place.git("status", "--porcelain") == ""

    @pytest.mark.slow
    def test_files_with_git_filters_are_conflicts(self, desk: Desk) -> None:
        """A filter is a command; none is run."""
        self.repository(desk)
        desk.git("config", "filter.shout.clean", f"touch {desk.folder}/ran; cat")
        desk.analyze()
        for filtered in ("filter=shout", "working-tree-encoding=utf-16le", "ident", ""):
            desk.write({".gitattributes": f"*.py {filtered or 'filter=unknown'}\n"})
            done = onto(desk, wanted=ONE)
            assert [filtered in each["detail"] for each in done.conflicts] == [True] * bool(
                filtered
            )
            assert not (desk.folder / "ran").exists()


class TestConflicts:
    def test_an_edit_of_the_same_lines_on_the_branch_is_one(self, shop: Desk) -> None:
        shop.git("switch", "-q", "-c", "fixes")
        shop.write({"pkg/a.py": UNUSED.replace("import re", "import json")})
        shop.commit()
        shop.git("switch", "-q", "main")
        done = onto(shop, wanted=ONE)
        assert (done.accepted, len(done.conflicts)) == ([], 1)
        assert shop.git("rev-list", "--count", "main..fixes") == "1"
        assert shop.payloads(shop.newest, Review)[-1].verdict == "conflict"

    def test_a_test_of_code_that_is_not_on_the_branch_is_one(self, shop: Desk) -> None:
        view, branch = own_run(shop.project, shop.newest), open_branch(shop.root, "fixes")
        job = next(job for job in view.jobs if display_name(job.node_id) == ONE)
        for known, paths in (("0" * 64, ["pkg/a.py"]), (sha256(UNUSED.encode()).hexdigest(), [])):
            base = {"files": {"pkg/a.py": {"sha256": known, "mode": 0o644}}}
            start = msgspec.structs.replace(view.start, base=base)
            found = git_branch._lacking(start, ReadyChange(job, [], (), []), branch)
            assert [conflict.path for conflict in found] == paths

    @pytest.mark.parametrize("is_checked_out", [False, True])
    def test_a_branch_that_moves_or_is_checked_out_in_that_very_moment_stays(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch, is_checked_out: bool
    ) -> None:
        shop.git("branch", "fixes")
        mine = shop.git("commit-tree", "main^{tree}", "-m", "mine")
        write, tip = (
            git_branch.write_tree,
            shop.git("rev-parse", "main") if is_checked_out else mine,
        )
        overtaking = (
            ("switch", "-q", "fixes") if is_checked_out else ("branch", "-f", "fixes", mine)
        )

        def overtaken(*given: Any) -> str:
            shop.git(*overtaking)
            return write(*given)

        monkeypatch.setattr(git_branch, "write_tree", overtaken)
        done = onto(shop, wanted=ONE)
        assert [c["detail"] for c in done.conflicts] == [
            "the branch fixes has moved or was checked out in the meantime"
        ]
        assert shop.git("rev-parse", "fixes") == tip
        assert shop.payloads(shop.newest, Review)[-1].verdict == "conflict"

    def test_a_ref_that_git_cannot_lock_is_an_error_and_the_change_stays_pending(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write = git_branch.write_tree

        def locked(*given: Any) -> str:
            (shop.root / ".git" / "refs" / "heads" / "fixes.lock").touch()
            return write(*given)

        monkeypatch.setattr(git_branch, "write_tree", locked)
        with pytest.raises(OutsideError, match=r"fixes\.lock"):
            onto(shop, wanted=ONE)
        assert shop.payloads(shop.newest, Review) == []


class TestRefused:
    def refused(self, desk: Desk, name: str = "fixes") -> str:
        before = desk.run_events(desk.newest)
        with pytest.raises(UsageError) as caught:
            onto(desk, name)
        assert desk.run_events(desk.newest) == before, "nothing is recorded"
        assert caught.value.hint
        return caught.value.message

    def test_a_branch_that_is_not_to_be_written(self, shop: Desk) -> None:
        assert "is checked out" in self.refused(shop, "main")
        shop.git("worktree", "add", "-q", "-b", "away", str(shop.folder / "other"))
        assert "is checked out" in self.refused(shop, "away")
        shop.git("branch", "fixes")
        assert "cannot be written" in self.refused(shop, "fixes/lint")
        shop.git("symbolic-ref", "refs/heads/symbol", "refs/heads/fixes")
        assert "symbolic ref" in self.refused(shop, "symbol")
        shop.git("switch", "-q", "fixes")
        shop.git("commit", "-q", "--allow-empty", "-m", "off")
        shop.git("switch", "-q", "main")
        shop.git("commit", "-q", "--allow-empty", "-m", "on")
        assert "does not contain" in self.refused(shop)

    def test_a_name_or_identity_that_git_refuses(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("", "-d", "a..b", "a b", "HEAD~1", "HEAD", "refs/../x", "refs/heads/x"):
            assert "not a valid branch name" in self.refused(shop, name)
        monkeypatch.setenv("HOME", str(shop.home))
        for key in ("user.name", "user.email"):
            shop.git("config", "--unset", key)
        shop.git("config", "user.useConfigOnly", "true")
        assert "no author is configured" in self.refused(shop)

    def test_no_repository_and_no_commits_yet(self, desk: Desk) -> None:
        desk.write({"a.py": UNUSED, "ruff.toml": RULES})
        desk.analyze()
        assert "not in a git repository" in self.refused(desk)
        desk.git("init", "-q", "-b", "main")
        assert "no commits yet" in self.refused(desk)


class TestKilled:
    """The commit comes before the verdict's line, and the same command again does the rest."""

    @pytest.mark.parametrize(
        ("where", "commits"),
        [((git_branch, "_commit_tree"), 0), ((RunStream, "append"), 1)],
        ids=["before the commit", "before the verdict"],
    )
    def test_it_is_pending_until_the_verdict_is_recorded(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch, where: tuple[object, str], commits: int
    ) -> None:
        def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(*where, killed)
            with pytest.raises(KeyboardInterrupt):
                onto(shop, wanted=ONE)
        assert shop.git("log", "--format=%s", "--all", "--not", "main") == (
            "lint: pkg/a.py:load" if commits else ""
        )
        assert shop.payloads(shop.newest, Review) == []
        done = onto(shop, wanted=ONE)
        assert len(done.accepted) == 1
        assert list(done.already) == (done.accepted if commits else [])
        assert shop.git("log", "--format=%s", "main..fixes") == "lint: pkg/a.py:load"
        assert shop.problems() == []
