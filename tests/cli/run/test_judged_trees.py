"""`remora judge` where a change is odd: each has an answer, and none a riddle."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, write
from tests.cli.run.test_judge import HOLLOW, NEW, SHOP, TESTS

STATIC = ("judge", "--static", "--json")
SHALLOW = "this clone is shallow; fetch its history with `git fetch --unshallow`"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", {"shop.py": SHOP, "tests/test_shop.py": TESTS})
    git(root, "init", "-q")
    committed(root)
    return root


def committed(root: Path, files: dict[str, str] | None = None) -> None:
    write(root, files or {})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "work")


def codes(remora: Remora, root: Path, *words: str) -> list[tuple[str, str]]:
    found = remora(*STATIC, *words, cwd=root).document
    return [(problem["path"], problem["code"]) for problem in found["problems"]]


def test_a_shallow_clone_says_how_to_get_what_it_lacks(shop: Path, poor: Remora) -> None:
    git(shop, "switch", "-q", "-c", "work")
    committed(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    git(shop, "switch", "-q", "main")
    committed(shop, {"other.py": ""})
    clone = shop.parent / "clone"
    words = ("--depth=1", "--no-single-branch", f"file://{shop}", str(clone))
    git(shop.parent, "clone", "-q", *words)
    for revisions in ("HEAD~1..HEAD", "origin/main...origin/work"):
        done = poor("judge", "--static", revisions, cwd=clone)
        assert done.code == 2
        assert SHALLOW in done.err
    assert codes(poor, clone, "origin/main..origin/work") == [("tests/test_shop.py", "hollow test")]


def test_commits_without_a_common_ancestor(shop: Path, poor: Remora) -> None:
    git(shop, "switch", "-q", "--orphan", "other")
    committed(shop, {"a.py": ""})
    done = poor("judge", "--static", "main...other", cwd=shop)
    assert done.code == 2
    assert "have no common ancestor" in done.err
    assert "compare them with REV..REV" in done.err


def test_a_merge_commit_is_compared_with_the_parent_that_is_named(shop: Path, poor: Remora) -> None:
    git(shop, "switch", "-q", "-c", "work")
    committed(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    git(shop, "switch", "-q", "main")
    committed(shop, {"shop.py": NEW})
    git(shop, "merge", "-q", "--no-edit", "work")
    assert codes(poor, shop, "HEAD^1..HEAD") == [("tests/test_shop.py", "hollow test")]
    assert codes(poor, shop, "HEAD^2..HEAD") == [("shop.py", "renamed-parameter")]


def test_a_file_that_is_renamed_and_edited_has_only_the_remarks_of_the_edit(
    shop: Path, poor: Remora
) -> None:
    committed(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    git(shop, "mv", "tests/test_shop.py", "tests/test_store.py")
    git(shop, "mv", "shop.py", "store.py")
    assert codes(poor, shop, "--staged") == []
    write(shop, {"store.py": NEW})
    assert codes(poor, shop) == [("store.py", "renamed-parameter")]


def test_a_diff_of_binary_files_links_and_nothing(shop: Path, poor: Remora) -> None:
    """A link that a diff makes is not followed: it may point to any file of the machine."""
    secret = write(shop.parent, {"secret.py": "def broken(:\n"}) / "secret.py"
    (shop / "link.py").symlink_to(secret)
    write(shop, {"data.bin": "\0\1", "data.py": "\0", "shop.py": NEW})
    git(shop, "add", "-A")
    for name, words in {"whole": ("--binary",), "part": ()}.items():
        (shop.parent / name).write_text(git(shop, "diff", "--cached", *words))
    (shop.parent / "empty").write_text("\n")
    git(shop, "reset", "-q", "--hard")
    found = poor(*STATIC, "--diff", "../whole", cwd=shop).document
    said = {(problem["path"], problem["code"]) for problem in found["problems"]}
    assert said == {("data.py", "ruff"), ("shop.py", "renamed-parameter")}
    assert {part["what"]: part["why"] for part in found["unjudged"]} == {
        "link.py": "it is too large, or a symbolic link",
        "data.py": "line 1: contains a NUL byte",
    }
    done = poor("judge", "--diff", "../part", cwd=shop)
    assert (
        done.code,
        "make it of these files with `git diff --relative --binary`" in done.err,
    ) == (2, True)
    assert poor("judge", "--diff", "../empty", cwd=shop).out == "no Python file is changed\n"
    (shop / "shop.py").unlink()
    (shop / "shop.py").symlink_to("/dev/zero")
    found = poor(*STATIC, cwd=shop).document
    assert (found["unread"], found["unjudged"][0]["why"]) == (1, "symbolic link")


def test_a_diff_that_leads_out_of_the_project_leaves_nothing(shop: Path, poor: Remora) -> None:
    write(shop.parent, {"odd.diff": "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"})
    done = poor("judge", "--static", "--diff", "../odd.diff", cwd=shop)
    assert (done.code, done.out) == (2, "")
    assert "the diff does not apply to the files of the project" in done.err
    assert not (shop.parent / "x").exists()


def test_before_the_first_commit_everything_is_new(tmp_path: Path, poor: Remora) -> None:
    root = write(tmp_path / "new", {"test_shop.py": TESTS + HOLLOW, "later.py": ""})
    git(root, "init", "-q")
    git(root, "add", "test_shop.py")
    assert codes(poor, root, "--staged") == [("test_shop.py", "hollow test")]
    assert poor(*STATIC, cwd=root).document["files"] == 2
    assert "unknown git revision 'HEAD'" in poor("judge", "HEAD", cwd=root).err


def test_a_folder_without_git_needs_a_diff(tmp_path: Path, poor: Remora) -> None:
    root = write(tmp_path / "plain", {"shop.py": SHOP, "test_shop.py": TESTS})
    done = poor("judge", "--static", cwd=root)
    assert (done.code, "no changes can be found without git" in done.err) == (2, True)
    diff = (
        "--- a/test_shop.py\n+++ b/test_shop.py\n@@ -6,0 +7,2 @@\n+def test_x():\n+    assert 1\n"
    )
    write(tmp_path, {"x.diff": diff})
    assert codes(poor, root, "--diff", "../x.diff") == [("test_shop.py", "hollow test")]


def since(remora: Remora, root: Path) -> tuple[list[str], str]:
    found = remora(*STATIC, cwd=root).document
    return [problem["code"] for problem in found["problems"]], found["since"].partition(" (")[0]


@pytest.mark.slow
def test_a_clean_tree_is_compared_with_where_its_branch_began(shop: Path, poor: Remora) -> None:
    """On the default branch, it is the last commit. Files that git does not know, but for code, are
    no change.
    """
    assert since(poor, shop) == ([], "")  # there is no commit before the first
    git(shop, "switch", "-q", "-c", "work")
    committed(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    committed(shop, {"shop.py": NEW})
    write(shop, {"notes.txt": "later"})
    assert since(poor, shop) == (["renamed-parameter", "hollow test"], "the merge base with main")
    base = git(shop, "rev-parse", "--short=10", "main")
    said = poor("judge", "--static", cwd=shop).out
    assert f"on 2 changed Python files since the merge base with main ({base.strip()})" in said
    write(shop, {"other.py": ""})
    assert since(poor, shop) == ([], "")
    (shop / "other.py").unlink()
    git(shop, "branch", "-q", "-D", "main")
    assert since(poor, shop) == (["renamed-parameter"], "the commit before HEAD")
    git(shop, "branch", "-q", "-m", "main")
    assert since(poor, shop) == (["renamed-parameter"], "the commit before HEAD")
    git(shop, "update-ref", "refs/remotes/origin/main", "HEAD~2")
    assert since(poor, shop)[1] == "the merge base with origin/main"
    found = poor(*STATIC, "HEAD~1..HEAD~2", cwd=shop).document
    assert found["commit"] == git(shop, "log", "-1", "--format=%h %s (%an)", "HEAD~2").strip()


def test_files_outside_of_a_sparse_checkout_are_on_both_sides(shop: Path, poor: Remora) -> None:
    committed(shop, {"lib/names.py": "NAME = 1\n", "lib/till.py": "def till(): ...\n"})
    git(shop, "sparse-checkout", "set", "tests")
    assert not (shop / "lib").exists()
    write(shop, {"tests/test_shop.py": TESTS + HOLLOW})
    found = poor(*STATIC, cwd=shop).document
    assert (found["files"], found["since"]) == (1, "")
    (shop.parent / "one.diff").write_text(git(shop, "diff") + "\n")
    git(shop, "checkout", "-q", ".")
    assert codes(poor, shop, "--diff", "../one.diff") == [("tests/test_shop.py", "hollow test")]
    assert poor(*STATIC, "HEAD~1", cwd=shop).document["files"] == 2


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_tests_of_a_project_that_is_not_installed_are_not_judged(
    shop: Path, poor: Remora, plain_python: ProjectPython
) -> None:
    user = replace(poor, environ={"VIRTUAL_ENV": str(plain_python.python.parent.parent)})
    test = "\n\ndef test_other():\n    import not_installed\n\n    assert not_installed.x == 1\n"
    write(shop, {"tests/test_shop.py": TESTS + test})
    found = user("judge", "--json", cwd=shop).document
    said = {part["what"]: part["why"] for part in found["unjudged"]}
    assert "No module named 'not_installed'" in said["tests/test_shop.py::test_other"]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_five_thousand_changed_files_are_answered_within_a_minute(
    tmp_path: Path, poor: Remora
) -> None:
    root = write(tmp_path / "many", {f"m{number:04}.py": SHOP for number in range(5_000)})
    git(root, "init", "-q")
    committed(root)
    for path in root.glob("*.py"):
        path.write_text(NEW)
    begun = time.monotonic()
    found = poor(*STATIC, cwd=root).document
    assert time.monotonic() - begun < 60
    assert (found["files"], len(found["problems"])) == (5_000, 300)
    assert found["unjudged"] == [{"what": "4,700 changed files", "why": "at most 300 are judged"}]
