"""`remora` alone looks at the project, and names the command that has a result."""

from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, new_repository, write

CLEAN = '"""Read."""\n'
CASES = {
    "import os\n": "1 finding to fix in a.py; next: `remora analyze`",
    CLEAN + "\n\ndef read(path):\n    return open(path).read()\n": "next: `remora hub index`\n"
    "1 docstring to write: run `remora model pull ",
    CLEAN: "next: `remora hub index`",
}


@pytest.mark.parametrize("code", CASES)
def test_remora_alone_names_the_command_that_has_a_result(
    code: str, tmp_path: Path, poor: Remora
) -> None:
    assert "Usage: remora" in poor(cwd=tmp_path).err
    root = new_repository(write(tmp_path / "project", {"a.py": code, ".gitignore": "*.pyc\n"}))
    done = poor(cwd=root)
    assert done.out.startswith(CASES[code]), done
    if code == CLEAN:
        assert CASES[code] in poor("analyze", cwd=root).out
        write(root, {"ruff.toml": "line-length = 'x'\n"})
        done = poor("analyze", "-o", "docstring", cwd=root)
        assert (done.code, "next: correct the project's ruff settings" in done.out) == (0, True)
        (root / "ruff.toml").unlink()
        git(root, "commit", "-q", "--allow-empty", "-m", "more")
        git(root, "checkout", "-q", "-b", "work")
    environment = {".venv/pyvenv.cfg": "home = /usr/bin\n", ".venv/lib/python3.11/dep.py": ""}
    write(root, {"a.py": code + "# more\n"} | environment)
    if code == "import os\n":
        assert poor("analyze", "-o", "lint", cwd=root).code == 0
        assert poor(cwd=root).out == "1 change to review; next: `remora review`\n"
        assert poor("reject", "last", "--all", cwd=root).code == 0
    expected = "1 changed Python file since the last commit; next: `remora judge`"
    assert poor(cwd=root).out.startswith(expected)
    if code == CLEAN:
        git(root, "commit", "-q", "-a", "-m", "work")
        expected = "1 changed Python file since the merge base with main"
        assert poor(cwd=root).out.startswith(expected)
        assert poor("--json", cwd=root).document["next"]["command"] == "remora judge"
        git(root, "branch", "-f", "main")
        assert "since the commit before HEAD" in poor(cwd=root).out
        git(root, "commit", "-q", "--allow-empty", "-m", "more")
        last = git(root, "log", "-1", "--format=%p..%h", "HEAD~1").strip()
        assert (
            f"the last commit that changed Python; next: `remora judge {last}`"
            in poor(cwd=root).out
        )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "a.py",
            "`judge` needs commits of git, and there are none; next: `remora hub index`\n",
        ),
        (
            "pyproject.toml",
            "no Python file is here; next: name another with `--root DIR`\n",
        ),
    ],
)
def test_without_git_or_python_it_says_so(
    path: str, said: str, tmp_path: Path, poor: Remora
) -> None:
    text = (
        ""
        if path == "pyproject.toml"
        else '"""Rows."""\n\n\ndef total(row):\n    """Add."""\n    return sum(row)\n'
    )
    done = poor(cwd=write(tmp_path / "plain", {path: text}))
    assert done.out == said
