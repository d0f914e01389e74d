"""Members: the same Python files as `project_files`, asked of git only where something is new."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.files.patterns import IgnoreRules
from remora.files.project_files import project_files
from remora.hub.members import exclusion_rules
from remora.hub.members.members import Members
from tests.hub.small_files import git, put


def truth(root: Path, exclude: tuple[str, ...] = ()) -> set[str]:
    excluded = IgnoreRules()
    excluded.add("", "\n".join(exclude))
    paths = project_files(root).paths
    return {path for path in paths if path.endswith((".py", ".pyi")) and not excluded.ignores(path)}


def agrees(members: Members, root: Path, exclude: tuple[str, ...] = ()) -> set[str]:
    """What belongs now, by every way to ask."""
    found = set(members.sweep())
    assert found == truth(root, exclude)
    assert members.belonging([*found, "absent.py", "a.txt"]) == found
    everything = [
        os.fsdecode(Path(place, name).relative_to(root))
        for place, _, names in os.walk(root)
        for name in names
    ]
    assert members.belonging(everything) == found
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    put(folder, "a.py", "src/b.py", "src/deep/er/c.py", "docs/index.md")
    return folder


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "-q", ".")
    (root / ".gitignore").write_text("out/\n*_gen.py\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


def test_with_git(repository: Path) -> None:
    members = Members(repository)
    put(repository, "new.py", "out/x.py", "src/a_gen.py", ".env.py", ".agentfs/x.py", ".hid/y.py")
    put(repository, "a.pyi", "out/x.pyi")
    assert agrees(members, repository) == {
        *("a.py", "src/b.py", "src/deep/er/c.py", "new.py", "a.pyi", ".hid/y.py")
    }
    assert members.survey().folders == {"", "src", "src/deep", "src/deep/er", "docs", ".hid"}


def test_without_git(root: Path) -> None:
    put(
        root,
        "venv/x.py",
        "build/x.py",
        "src/build/__init__.py",
        "e/pyvenv.cfg",
        "e/x.py",
        ".t/x.py",
    )
    put(root, "src/.gitignore", text="b.py\n")
    members = Members(root)
    assert agrees(members, root) == {"a.py", "src/deep/er/c.py", "src/build/__init__.py"}
    assert members.survey().folders == {"", "src", "src/build", "src/deep", "src/deep/er", "docs"}


class TestWhatGitKnows:
    def test_tracked_files_belong_though_ignored(self, repository: Path) -> None:
        put(repository, "out/deep/x.py", "out/deep/y.py", "src/t_gen.py", "src/u_gen.py")
        members = Members(repository)
        members.sweep()
        git(repository, "add", "-f", "out/deep/x.py", "src/t_gen.py")
        assert agrees(members, repository) >= {"out/deep/x.py", "src/t_gen.py"}
        assert members.survey().folders >= {"out", "out/deep"}
        git(repository, "rm", "-qr", "--cached", "out", "src/t_gen.py")
        agrees(members, repository)
        assert not members.survey().folders & {"out", "out/deep"}

    def test_other_repositories_are_left_out(self, repository: Path) -> None:
        members = Members(repository)
        members.sweep()
        put(repository, "nested/n.py", "sub/s.py", "broken/b.py")
        for name in ("nested", "sub"):
            git(repository, "init", "-q", name)
            git(repository / name, "commit", "-q", "--allow-empty", "-m", "n")
        (repository / "broken/.git").mkdir()
        assert "broken/b.py" in agrees(members, repository)
        git(repository, "add", "sub")
        agrees(members, repository)
        (repository / "sub/.git").rename(repository / "sub/git")  # a submodule that is not set up
        agrees(members, repository)
        (repository / "nested/.git").rename(repository / "nested/git")
        assert "nested/n.py" in agrees(members, repository)
        (repository / "nested/.git").write_text("gitdir: git\n")
        assert "nested/n.py" not in agrees(members, repository)

    def test_a_root_within_the_repository(self, repository: Path) -> None:
        put(repository, "src/x.py", "src/y_gen.py")
        members = Members(repository / "src")
        assert agrees(members, repository / "src") == {"b.py", "deep/er/c.py", "x.py"}
        (repository / ".gitignore").write_text("src/x.py\n")
        assert agrees(members, repository / "src") == {"b.py", "deep/er/c.py", "y_gen.py"}

    def test_a_root_that_becomes_ignored(self, repository: Path) -> None:
        put(repository, "own/a.py", "own/build/b.py")
        members = Members(repository / "own")
        assert agrees(members, repository / "own") == {"a.py", "build/b.py"}
        (repository / ".gitignore").write_text("own/\n")
        assert agrees(members, repository / "own") == {"a.py"}
        (repository / ".gitignore").write_text("")
        assert agrees(members, repository / "own") == {"a.py", "build/b.py"}

    def test_a_folder_becomes_a_repository_and_is_none_again(self, root: Path) -> None:
        put(root, "build/x.py")
        members = Members(root)
        assert "build/x.py" not in agrees(members, root)
        git(root, "init", "-q", ".")
        assert "build/x.py" in agrees(members, root)
        shutil.rmtree(root / ".git")
        assert "build/x.py" not in agrees(members, root)

    def test_patterns_and_settings_elsewhere(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        members = Members(repository)
        assert "a.py" in agrees(members, repository)
        put(home, ".config/git/ignore", text="a.py\n")
        put(repository, "b.py")
        git(repository, "rm", "-q", "--cached", "a.py")
        assert "a.py" not in agrees(members, repository)
        put(home, ".gitconfig", text=f"[core]\n\texcludesFile = {home}/other\n")
        assert "a.py" in agrees(members, repository)
        put(home, "other", text="b.py\n")
        assert "b.py" not in agrees(members, repository)
        (repository / ".git/info/exclude").write_text("a.py\n")
        assert "a.py" not in agrees(members, repository)

    def test_git_that_failed_once_is_asked_again(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(repository, "build/x.py")
        with monkeypatch.context() as for_once:
            for_once.setattr(exclusion_rules, "_AGAIN_S", 0.0)
            for_once.setattr(os, "defpath", "/nowhere")
            members = Members(repository)
            assert "build/x.py" not in members.sweep()
        assert "build/x.py" in agrees(members, repository)

    def test_git_that_goes_away(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(repository, "build/x.py")
        members = Members(repository)
        members.sweep()
        put(repository, "new.py", ".gitignore")
        monkeypatch.setattr(os, "defpath", "/nowhere")
        assert set(members.sweep()) == {"a.py", "new.py", "src/b.py", "src/deep/er/c.py"}

    def test_links(self, repository: Path) -> None:
        members = Members(repository)
        members.sweep()
        (repository / "loop").symlink_to(".")
        (repository / "link.py").symlink_to("a.py")
        (repository / "src").rename(repository / "out")
        (repository / "src").symlink_to("out")
        (repository / ".#a.py").symlink_to("me@host:1")
        # of a link to a file the Hub reads the text, and other parts leave it out
        assert set(members.sweep()) == {"a.py", "link.py"} == truth(repository) | {"link.py"}
        assert members.belonging(["a.py", "link.py", ".#a.py", "src/b.py"]) == {"a.py", "link.py"}


class TestToolsFolders:
    @pytest.mark.parametrize("which", ["root", "repository"])
    def test_environments_anywhere(self, which: str, request: pytest.FixtureRequest) -> None:
        root: Path = request.getfixturevalue(which)
        members = Members(root)
        members.sweep()
        put(
            root,
            "e/pyvenv.cfg",
            "e/x.py",
            "src/e/f/pyvenv.cfg",
            "src/e/f/x.py",
            "node_modules/x.py",
        )
        assert agrees(members, root) == {"a.py", "src/b.py", "src/deep/er/c.py"}
        (root / "src/e/f/pyvenv.cfg").unlink()
        assert members.has_moved()
        assert "src/e/f/x.py" in agrees(members, root)

    def test_tracked_files_in_ignored_folders_are_members(self, repository: Path) -> None:
        put(repository, "e/pyvenv.cfg", "e/x.py")
        git(repository, "add", ".")
        assert "e/x.py" in truth(repository)
        members = Members(repository)
        assert "e/x.py" not in members.sweep()
        assert not members.belonging(["e/x.py"])

    def test_a_build_folder_that_becomes_a_package(self, root: Path) -> None:
        put(root, "src/build/x.py")
        members = Members(root)
        assert "src/build/x.py" not in agrees(members, root)
        put(root, "src/build/__init__.py")
        assert members.has_moved()
        assert "src/build/x.py" in agrees(members, root)
        (root / "src/build/__init__.py").unlink()
        assert members.has_moved()
        assert "src/build/x.py" not in agrees(members, root)


def test_excluded_by_the_user(repository: Path) -> None:
    put(repository, "docs/conf.py", "out/x.py")
    git(repository, "add", "-f", "out/x.py")
    exclude = ("docs/", "*/deep", "out/x.py")
    members = Members(repository, exclude)
    assert agrees(members, repository, exclude) == {"a.py", "src/b.py"}
    assert members.survey().folders == {"", "src"}


@pytest.mark.parametrize("which", ["root", "repository"])
def test_ignore_files_that_come_change_and_go(which: str, request: pytest.FixtureRequest) -> None:
    root: Path = request.getfixturevalue(which)
    members = Members(root)
    put(root, "new.py", "src/new.py", "src/deep/new.py")
    agrees(members, root)
    put(root, "src/.gitignore", text="new.py\n")
    assert "src/deep/new.py" not in agrees(members, root)
    put(root, "src/deep/.gitignore", text="!new.py\n")
    assert "src/deep/new.py" in agrees(members, root)
    put(root, "src/.gitignore", text="deep/\n")  # as long as before, within the same tick
    agrees(members, root)
    (root / "src/.gitignore").unlink()
    assert "src/deep/new.py" in agrees(members, root)


def test_an_ignore_file_from_the_future_is_read_each_time(repository: Path) -> None:
    members = Members(repository)
    put(repository, "new.py", "old.py")
    ignore = repository / ".gitignore"
    later = ignore.stat().st_mtime_ns + 10**15
    for text, name in [("new.py\n", "old.py"), ("old.py\n", "new.py")]:
        ignore.write_text(text)
        os.utime(ignore, ns=(later, later))
        assert name in agrees(members, repository)


def test_files_of_which_no_folder_tells(repository: Path, tmp_path: Path) -> None:
    put(tmp_path, "known.py")
    (repository / "h.py").hardlink_to(tmp_path / "known.py")
    members = Members(repository)
    assert members.has_other_names("h.py")
    members.sweep()
    assert members.unwatchable() == {"h.py"}
    assert not members.has_other_names("h.py")
    assert not members.has_other_names("a.py")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_that_cannot_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        root = Path(folder, "project")
        put(root, "a.py", "shut/x.py")
        git(root, "init", "-q", ".")
        git(root, "add", ".")
        (root / "shut").chmod(0o711)
        Path(folder).chmod(0o755)
        command = [sys.executable, "-c", textwrap.dedent(AS_SOMEBODY), str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "True frozenset({'shut/x.py'}) True\n", done.stderr


AS_SOMEBODY = """
    import os, sys
    from pathlib import Path
    from remora.files.project_files import project_files
    from remora.hub.members.members import Members

    os.environ["HOME"] = str(Path(sys.argv[1]).parent)
    Path(sys.argv[1]).parent.joinpath(".gitconfig").write_text("[safe]\\n\\tdirectory = *\\n")
    os.setuid(65534)
    members = Members(Path(sys.argv[1]))
    found = set(members.sweep())
    truth = {path for path in project_files(Path(sys.argv[1])).paths if path.endswith(".py")}
    print(found == truth, members.unwatchable(), "shut" in members.survey().folders)
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often git has been started since the last question."""
    trace = tmp_path / "trace"
    trace.write_text("")
    put(tmp_path / "home", ".gitconfig", text=f"[trace2]\n\teventTarget = {trace}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def count() -> int:
        text = trace.read_text()
        trace.write_text("")
        return text.count('"event":"version"')

    return count


def test_git_is_asked_only_about_what_is_new(repository: Path, asked: Callable[[], int]) -> None:
    put(repository, *(f"new{n}/deep/{m}.py" for n in range(10) for m in range(10)))
    members = Members(repository)
    members.sweep()
    assert 5 < asked() < 20
    found = members.sweep()
    (repository / "a.py").write_text("x = 2\n")
    assert members.sweep().keys() == found.keys() == members.belonging(found)
    assert not members.has_moved()
    assert asked() == 0
    put(repository, "one.py", "two.py")
    assert members.belonging(["one.py", "two.py"]) == {"one.py", "two.py"}
    members.sweep()
    assert asked() == 1
    git(repository, "add", ".")
    asked()
    assert not members.has_moved()
    members.sweep()
    assert asked() == 1
