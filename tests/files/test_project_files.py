"""project_files and find_root: git's view where there is one, a pruned walk elsewhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from remora.errors import ConfigError
from remora.files.patterns import IgnoreRules, glob_regex
from remora.files.project_files import project_files
from remora.files.project_root import find_root
from remora.rmtree import remove_tree


def git(root: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def put(root: Path, *paths: str, text: str = "x = 1\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("committed")
    put(root, "a.py", "src/b.py", "src/gone.py")
    (root / ".gitignore").write_text("*.log\nout/\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


@pytest.fixture
def repository(committed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(committed, tmp_path / "project"))


class TestGit:
    def test_tracked_and_untracked_but_neither_ignored_nor_deleted(self, repository: Path) -> None:
        put(
            repository, "new.py", "x.log", "out/c.py", ".agentfs/traces/a.jsonl", ".env", ".env.d/k"
        )
        (repository / "src/gone.py").unlink()
        found = project_files(repository)
        assert found.paths == (".gitignore", "a.py", "new.py", "src/b.py")
        assert not found.note
        assert found.commit == git(repository, "rev-parse", "HEAD").strip()
        python = tuple(path for path in found.paths if path.endswith(".py"))
        assert python == ("a.py", "new.py", "src/b.py")
        assert found.note == ""

    def test_a_root_within_the_repository(self, repository: Path) -> None:
        put(repository, "src/new.py")
        found = project_files(repository / "src")
        assert found.paths == ("b.py", "gone.py", "new.py")
        assert found.commit is not None

    @pytest.mark.slow
    def test_a_folder_that_is_deeper_than_the_stack(self, repository: Path) -> None:
        deep = "d/" * 1200 + "x.py"
        (repository / "x.py").write_text("x = 1\n")
        blob = git(repository, "hash-object", "-w", "x.py").strip()
        git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},{deep}")
        git(repository, "checkout-index", deep)
        try:
            assert deep in project_files(repository).paths
        finally:
            remove_tree(repository / "d")

    def test_no_commit_yet(self, tmp_path: Path) -> None:
        put(tmp_path, "a.py")
        git(tmp_path, "init", "-q", ".")
        found = project_files(tmp_path)
        assert (found.paths, found.commit, found.note) == (("a.py",), None, "")

    def test_links_and_other_repositories_are_left_out_and_told(self, repository: Path) -> None:
        (repository / "link.py").symlink_to("a.py")
        put(repository, "nested/n.py")
        git(repository, "init", "-q", "nested")
        git(repository / "nested", "add", ".")
        git(repository / "nested", "commit", "-qm", "n")
        (repository / "src").rename(repository / "real")
        (repository / "src").symlink_to("real")
        found = project_files(repository)
        assert found.paths == (".gitignore", "a.py", "real/b.py", "real/gone.py")
        assert dict(found.skipped) == {
            "link.py": "symbolic link",
            "nested/": "another repository",
            "src": "symbolic link",
            "src/b.py": "behind a symbolic link",
            "src/gone.py": "behind a symbolic link",
        }

    def test_tool_caches_are_left_out_unless_tracked(self, repository: Path) -> None:
        put(repository, "env/pyvenv.cfg", "env/lib/x.py", "src/node_modules/gyp/y.py")
        put(repository, "fixture/pyvenv.cfg", "fixture/tracked.py", "fixture/new.py")
        git(repository, "add", "fixture/pyvenv.cfg", "fixture/tracked.py")
        found = project_files(repository).paths
        assert [path for path in found if path.endswith(".py")] == [
            *("a.py", "fixture/tracked.py", "src/b.py", "src/gone.py")
        ]

    def test_odd_names_ignored_files_and_includes(self, repository: Path) -> None:
        name = os.fsdecode(b"caf\xe9 \n'\".py")
        (repository / name).write_text("")
        assert name in project_files(repository).paths
        put(repository, "out/keep.txt", "out/deep/keep.txt", "out/drop.log", "out/.env")
        before = project_files(repository).paths
        found = project_files(repository, include=["out/**/*.txt", "out/.*"])
        assert {*found.paths} == {*before, "out/deep/keep.txt", "out/keep.txt"}
        for pattern in ("../**", "/etc/*", "out/../../x"):
            with pytest.raises(ConfigError, match="is outside the project"):
                project_files(repository, include=[pattern])

    def test_variables_that_redirect_git_are_not_passed(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_DIR", "/nowhere")
        monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
        assert "a.py" in project_files(repository).paths
        assert not project_files(repository).note

    def test_nothing_of_the_repository_is_run(self, repository: Path, tmp_path: Path) -> None:
        trap = tmp_path / "trap"
        script = tmp_path / "script"
        script.write_text(f"#!/bin/sh\ntouch {trap}\n")
        script.chmod(0o755)
        git(repository, "config", "core.fsmonitor", str(script))
        git(repository, "config", "filter.x.clean", str(script))
        (repository / ".gitattributes").write_text("*.py filter=x\n")
        (repository / "a.py").write_text("x = 2\n")
        assert not project_files(repository).note
        assert not trap.exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_repository_of_another_user_is_walked_and_told(self, repository: Path) -> None:
        for path in [repository, repository / ".git"]:
            os.chown(path, 12345, 12345)
        found = project_files(repository)
        assert "another user owns it" in found.note
        assert found.paths == (".gitignore", "a.py", "src/b.py", "src/gone.py")

    def test_a_copy_within_an_ignored_folder_is_walked(self, repository: Path) -> None:
        put(repository, "out/copy/a.py")
        found = project_files(repository / "out" / "copy")
        assert found.paths == ("a.py",)
        assert "ignored by the git repository that contains it" in found.note


class TestWalk:
    def test_prunes_what_tools_make(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            *("a.py", "src/b.py", ".ruff.toml", "src/build/__init__.py"),
            *(".git2/x", "__pycache__/a.pyc", "env/pyvenv.cfg", "env/lib/x.py", "venv/x.py"),
            *(".tox/x.py", "node_modules/x.py", "build/lib/a.py", "dist/a", "a.egg-info/PKG-INFO"),
            *(".agentfs/x", ".env", ".hg/x"),
        )
        found = project_files(tmp_path)
        assert found.paths == (".ruff.toml", "a.py", "src/b.py", "src/build/__init__.py")
        assert found.commit is None
        assert "git cannot be used" in found.note

    def test_honours_ignore_files(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "a.py",
            "a.log",
            "gen/x.py",
            "src/gen.py",
            "src/keep.log",
            "src/tmp/x",
            "tmp/x",
        )
        (tmp_path / ".gitignore").write_text("# logs\n*.log\n/gen/\ntmp\n")
        (tmp_path / "src/.gitignore").write_text("!keep.log\ngen.py\n")
        found = project_files(tmp_path)
        assert found.paths == (".gitignore", "a.py", "src/.gitignore", "src/keep.log")

    def test_never_follows_links(self, tmp_path: Path) -> None:
        put(tmp_path, "out/secret.py", "p/a.py")
        (tmp_path / "p/loop").symlink_to(".")
        (tmp_path / "p/link").symlink_to("../out")
        (tmp_path / "p/b.py").symlink_to("../out/secret.py")
        os.mkfifo(tmp_path / "p/pipe")
        found = project_files(tmp_path / "p")
        assert found.paths == ("a.py",)
        assert dict(found.skipped) == {
            "b.py": "symbolic link",
            "link": "symbolic link",
            "loop": "symbolic link",
            "pipe": "not a regular file",
        }

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        assert project_files(tmp_path).paths == ()


class TestFindRoot:
    def test_the_settings_file_is_searched_up_to_the_git_root_only(self, repository: Path) -> None:
        put(repository.parent, "remora.yaml")
        put(repository, "src/deep/x.py")
        assert find_root(repository / "src/deep/x.py") == repository
        put(repository, "src/remora.yaml")
        assert find_root(repository / "src/deep") == repository / "src"
        assert find_root(repository) == repository

    def test_without_git_nothing_above_the_target_counts(self, tmp_path: Path) -> None:
        put(tmp_path, "remora.yaml", "src/x.py")
        assert find_root(tmp_path / "src") == tmp_path / "src"
        assert find_root(tmp_path / "src/x.py") == tmp_path / "src"

    def test_without_git_a_target_in_the_current_folder_belongs_to_its_project(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(tmp_path, "remora.yaml", "plain/src/x.py")
        plain = tmp_path / "plain"
        assert find_root(plain / "src", within=plain) == plain
        assert find_root(plain / "src/x.py", within=plain) == plain
        assert find_root(plain / "src", within=plain / "src") == plain / "src"
        put(plain, "src/pyproject.toml")
        assert find_root(plain / "src/x.py", within=plain) == plain / "src"
        put(plain, "remora.yaml")
        assert find_root(plain / "src/x.py", within=plain) == plain
        assert find_root(tmp_path, within=plain) == tmp_path, "a target elsewhere"
        monkeypatch.setenv("HOME", str(plain))
        assert find_root(plain / "src", within=plain) == plain / "src", "never all of a home"


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("*.log", "a/b.log", True),
        ("*.log", "a/b.txt", False),
        ("/a", "a", True),
        ("/a", "b/a", False),
        ("b/c", "b/c/d", True),
        ("b/c", "x/b/c", False),
        ("b/", "x/b/y", True),
        ("b/", "b", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("**/z", "a/z", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("a*\n!ab", "ab", False),
        ("[a-c].py", "b.py", True),
        ("[!a-c].py", "b.py", False),
        ("[z-a]", "x", False),
        ("\\#x", "#x", True),
        ("#x", "#x", False),
        ("a\\ ", "a ", True),
        ("a  ", "a", True),
        ("?.py", "ab.py", False),
        ("*", "a", True),
        ("foo*bar", "foo/bar", False),
    ],
)
def test_ignore_rules_agree_with_git(
    pattern: str, path: str, ignored: bool, tmp_path: Path
) -> None:
    rules = IgnoreRules()
    rules.add("", pattern + "\n")
    assert rules.ignores(path) is ignored
    git(tmp_path, "init", "-q", ".")
    (tmp_path / ".gitignore").write_text(pattern + "\n")
    command = ["git", "check-ignore", "-q", "--no-index", path]
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("")
    assert (subprocess.run(command, cwd=tmp_path, check=False).returncode == 0) is ignored


@example("[?--]", "")
@given(some.text("ab/*?[]!\\-^.&|~", max_size=12), some.text("ab/*]", max_size=8))
def test_any_pattern_is_a_pattern(pattern: str, path: str) -> None:
    glob_regex(pattern).fullmatch(path)
    rules = IgnoreRules()
    rules.add("", pattern)
    rules.ignores(path)


def test_git_does_not_read_a_huge_ignore_file_in_a_folder(repository: Path) -> None:
    (repository / "src/.gitignore").touch()
    os.truncate(repository / "src/.gitignore", 1_900 << 20)
    found = project_files(repository)
    assert found.note == "git ls-files needed more than 1,024 MiB of memory"
    assert "src/b.py" in found.paths


@pytest.mark.slow
def test_git_does_not_read_a_huge_ref(repository: Path) -> None:
    branch = repository / ".git" / git(repository, "symbolic-ref", "HEAD").strip()
    os.truncate(branch, 1_900 << 20)
    note = "git rev-parse needed more than 1,024 MiB of memory"
    assert project_files(repository).note == note
