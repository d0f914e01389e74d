"""`accept --pr` prepares a branch and the text of a pull request, and sends nothing."""

import shlex
import subprocess
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Done, git, on_terminal, tree, write
from tests.cli.review.four_changes import Four

NAMES = ("a.py", "a.py:load", "b.py", "b.py:load")


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Four:
    return Four(tmp_path_factory.mktemp("pulls"))


class Desk:
    """A user with a project of four pending change sets, and a remote repository."""

    def __init__(self, four: Four, remote: Path) -> None:
        four.again()
        self.four, self.root, self.remote = four, four.root, remote
        git(remote.parent, "init", "-q", "--bare", str(remote))
        git(self.root, "remote", "add", "upstream", str(remote))

    def __call__(self, *words: str) -> Done:
        return self.four.remora(*words, cwd=self.root)

    def branches(self) -> list[str]:
        return git(self.root, "branch", "--format=%(refname:short)").split()

    @property
    def texts(self) -> list[str]:
        """The texts of the pull requests, shortest first."""
        paths = (self.root / ".agentfs/runs").glob("*.md")
        return sorted((path.read_text(encoding="utf-8") for path in paths), key=len)

    @property
    def text(self) -> str:
        """The text of the only pull request."""
        (text,) = self.texts
        return text


@pytest.fixture
def desk(four: Four, tmp_path: Path) -> Desk:
    return Desk(four, tmp_path / "remote.git")


def test_the_printed_commands_push_the_branch_and_open_the_pull_request(desk: Desk) -> None:
    before = tree(desk.root)
    done = desk("accept", "--untested", "last", "--rule", "F401", "--pr")
    assert done.code == 0, done.err
    assert tree(desk.root) == before
    assert git(desk.remote, "branch") == "", "nothing is sent"
    push, create = (line[2:] for line in done.out.splitlines()[-2:])
    assert push == "git push -u upstream remora/steps-f401"
    subprocess.run(shlex.split(push), cwd=desk.root, check=True, capture_output=True)
    commits = git(desk.remote, "log", "--format=%s", "remora/steps-f401").splitlines()
    assert sorted(commits) == ["start", *sorted(f"steps: {name}" for name in NAMES)]
    words = shlex.split(create)
    assert words[:3] == ["gh", "pr", "create"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options["--title"] == "steps: fix F401 in 2 files"
    assert options["--head"] == "remora/steps-f401"
    assert Path(options["--body-file"]).read_text(encoding="utf-8") == desk.text


@pytest.mark.slow
def test_the_text_says_what_changed_what_was_verified_and_how_to_take_it_back(desk: Desk) -> None:
    assert desk("accept", "--untested", "last", "--all", "--pr").code == 0
    changes, _, others = desk.text.partition("What the project's own checks report")
    proof, _, gaps = others.partition("What they did not check:\n\n")
    for name in NAMES:
        assert f"\n- `{name}`: steps F401 unused-import\n" in changes
    run_id = desk("runs", "--json").document["runs"][0]["run_id"]
    (gates,) = [
        line for line in desk("show", "last").out.splitlines() if "the same as before" in line
    ]
    assert f"- {gates}" in proof
    assert gaps.startswith("- not tested: ")
    assert "`git revert COMMIT`" in others
    assert f"Run {run_id}." in others


def test_a_document_has_the_title_the_file_and_the_commands(desk: Desk) -> None:
    found = desk(
        "accept", "--untested", "last", "a.py:load", "--pr", "--git-branch", "my/fix", "--json"
    ).document
    assert found["branch"] == "my/fix"
    pull = found["pull_request"]
    assert pull["title"] == "steps: fix F401 in 1 file"
    (path,) = (desk.root / ".agentfs/runs").glob(f"{found['run_id']}-????????.md")
    assert pull["body_file"] == str(path)
    assert pull["commands"][0] == "git push -u upstream my/fix"
    assert (
        "pull_request" not in desk("accept", "--untested", "last", "b.py:load", "--json").document
    )


@pytest.mark.slow
def test_a_branch_gets_more_commits_until_it_is_merged_and_an_edited_text_stays(
    desk: Desk,
) -> None:
    assert desk("accept", "--untested", "last", NAMES[0], "--pr").code == 0
    (first,) = (desk.root / ".agentfs/runs").glob("*.md")
    first.write_text("mine")
    assert desk("accept", "--untested", "last", NAMES[1], "--pr").code == 0
    assert desk.branches() == ["main", "remora/steps-f401"]
    mine, both = desk.texts
    assert mine == "mine"
    assert all(f"`{name}`" in both for name in NAMES[:2])
    git(desk.root, "merge", "-q", "remora/steps-f401")
    git(desk.root, "branch", "-q", "-d", "remora/steps-f401")
    pull = desk("accept", "--untested", "last", NAMES[2], "--pr", "--json").document["pull_request"]
    assert pull["title"] == "steps: fix F401 in 1 file"
    assert f"`{NAMES[0]}`" not in Path(pull["body_file"]).read_text(encoding="utf-8")


@pytest.fixture
def again(desk: Desk) -> Desk:
    """All changes are on a branch, and a second run proposes them again."""
    assert desk("accept", "--untested", "last", "--all", "--pr").code == 0
    assert desk("analyze", "-o", "steps", "--json").code == 0
    return desk


@pytest.mark.slow
def test_what_the_branch_has_already_is_not_said_to_be_committed(again: Desk) -> None:
    tip = git(again.root, "rev-parse", "remora/steps-f401")
    out = again("accept", "--untested", "last", "--all", "--pr").out
    said = "nothing was committed: the branch remora/steps-f401 has these changes already"
    assert said in out.splitlines()
    assert "committed to the branch" not in out
    assert git(again.root, "rev-parse", "remora/steps-f401") == tip
    assert again("analyze", "-o", "steps", "--json").code == 0
    found = again("accept", "--untested", "last", "--all", "--pr", "--json").document
    assert found["branch"] == "remora/steps-f401"
    assert found["already"] == found["accepted"]
    assert len(found["already"]) == 4
    assert again("analyze", "-o", "steps", "--json").code == 0
    git(again.root, "merge", "-q", "remora/steps-f401")
    done = again("accept", "--untested", "last", "--all", "--git-branch", "other")
    assert "nothing was committed: HEAD has these changes already" in done.out.splitlines()
    assert "other" not in again.branches()


@pytest.mark.slow
def test_what_is_new_on_the_branch_is_counted(desk: Desk) -> None:
    def commit(selected: str) -> Done:
        assert desk("analyze", "-o", "steps", "--json").code == 0
        return desk("accept", "--untested", "last", selected, "--git-branch", "fixes")

    commit(NAMES[0])
    done = commit("--all")
    assert "committed 3 of them to the branch fixes: your files are unchanged" in done.out


@pytest.mark.slow
def test_a_sentence_about_a_long_branch_is_wrapped_between_words(desk: Desk) -> None:
    words = ("accept", "--untested", "last", "--all", "--git-branch", "a" * 60)
    seen = click.unstyle(on_terminal(desk.four.remora, desk.root, *words, columns=80))
    assert f"committed to the branch\r\n{'a' * 60}: your files are\r\nunchanged\r\n" in seen


@pytest.mark.slow
def test_if_nothing_is_pending_there_is_no_branch_and_no_pull_request(desk: Desk) -> None:
    assert desk("accept", "--untested", "last", "--all").code == 0
    for words in (("--git-branch", "z"), ("--pr",)):
        done = desk("accept", "--untested", "last", "--all", "--json", *words)
        assert (done.code, done.document["accepted"]) == (0, [])
        assert not {"branch", "pull_request"} & done.document.keys()
        assert desk.branches() == ["main"]


@pytest.mark.slow
def test_a_secret_in_the_text_is_redacted(desk: Desk) -> None:
    key = "AKIAQWERTYUIOP234567"
    write(desk.root, {f"{key}.py": "import os\n\n\ndef load():\n    return 1\n"})
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-q", "-m", "more")
    assert desk("analyze", "-o", "steps", f"{key}.py").code == 0
    assert desk("accept", "--untested", "last", "--all", "--pr").code == 0
    assert key not in desk.text
    assert "<secret:" in desk.text


def test_a_hunk_cannot_be_a_pull_request(desk: Desk) -> None:
    done = desk("accept", "--untested", "last", "a.py:load", "--hunk", "1", "--pr")
    assert done.code == 2
    assert "--pr" in done.err


class TestLimit:
    """`review.max_open_branches`, with one branch that waits."""

    @pytest.fixture
    def desk(self, four: Four, tmp_path: Path) -> Desk:
        desk = Desk(four, tmp_path / "remote.git")
        write(desk.root, {"remora.yaml": "review:\n  max_open_branches: 1\n"})
        assert (
            desk(
                "accept", "--untested", "last", "a.py", "--pr", "--git-branch", "remora/first"
            ).code
            == 0
        )
        return desk

    @pytest.mark.slow
    def test_one_more_is_refused_with_those_that_wait_and_others_are_not(self, desk: Desk) -> None:
        done = desk("accept", "--untested", "last", "--all", "--pr")
        assert done.code == 2
        waiting = "1 branch of Remora not merged into HEAD: remora/first (review.max_open_branches"
        assert f"{waiting}: 1)" in done.err
        assert "merge or delete one, or add to one with --git-branch" in done.err
        assert desk.branches() == ["main", "remora/first"]
        jobs = desk("show", "last", "--json").document["jobs"]
        assert [job["branch"] for job in jobs].count(None) == 3, "nothing is decided"
        # the open branch may get more, and one without a pull request is not limited
        assert (
            desk(
                "accept", "--untested", "last", "b.py", "--pr", "--git-branch", "remora/first"
            ).code
            == 0
        )
        assert desk("accept", "--untested", "last", "a.py:load", "--git-branch", "fixes").code == 0
        write(desk.root, {"remora.yaml": "review:\n  max_open_branches: 0\n"})
        assert desk("accept", "--untested", "last", "--all", "--pr").code == 0

    def test_a_merged_branch_makes_room_and_counts_when_it_begins_again(self, desk: Desk) -> None:
        git(desk.root, "merge", "-q", "remora/first")
        assert (
            desk("accept", "--untested", "last", "b.py", "--pr", "--git-branch", "second").code == 0
        )
        done = desk("accept", "--untested", "last", "--all", "--pr", "--git-branch", "remora/first")
        assert done.code == 2
        assert "not merged into HEAD: second" in done.err
