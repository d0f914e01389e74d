"""`remora init` and `remora` alone look at the project, and say what they found."""

from pathlib import Path
from shutil import rmtree

import pytest
import yaml

from tests.cli.conftest import Remora, git, new_repository, write

PYPROJECT = """[tool.ruff.lint]
select = ["F"]

[tool.black]
line-length = 99
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    files = {
        "pyproject.toml": PYPROJECT,
        ".git/HEAD": "",
        "src/shop/prices.py": "def price():\n    return 3\n",
        "src/shop/__init__.py": "",
        "tests/test_prices.py": "def test_price():\n    assert True\n",
        ".venv/bin/python": "",
        ".venv/lib/python3.11/site-packages/black-24.1.0.dist-info/METADATA": "",
    }
    write(root, files)
    return root


def test_it_says_what_it_found_and_writes_a_short_file_once(root: Path, poor: Remora) -> None:
    done = poor("init", cwd=root)
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "code      3 Python files in src, tests, 1 test file",
        "python    .venv/bin/python",
        "judges    black, ruff, imports, pytest",
        "",
        f"wrote {root}/remora.yaml",
        "next: remora analyze",
    ]
    text = (root / "remora.yaml").read_text()
    assert len(text.splitlines()) == 7
    assert yaml.safe_load(text) == {"python": ".venv/bin/python"}
    commented = yaml.safe_load(text.replace("# exclude", "exclude").replace("# gates", "gates"))
    assert commented.keys() == {"python", "exclude", "gates"}
    assert poor("config", "--json", cwd=root).code == 0
    write(root, {"remora.yaml": "exclude: [a]\n"})
    done = poor("init", cwd=root)
    assert (done.code, "already exists" in done.err) == (2, True)
    assert (root / "remora.yaml").read_text() == "exclude: [a]\n"


def test_a_formatter_or_an_environment_that_is_missing_is_named(root: Path, poor: Remora) -> None:
    rmtree(root / ".venv/lib")
    found = poor("init", "--json", cwd=root).document["found"]
    assert found["python"] == ".venv/bin/python"
    assert found["gates"] == ["ruff", "imports", "pytest"]
    assert found["missing"] == ["black: it is not installed in the project's environment"]
    (root / "remora.yaml").unlink()
    (root / ".venv/bin/python").unlink()
    done = poor("init", cwd=root)
    assert f"python    {root} has no .venv, and no environment is active" in done.out
    assert yaml.safe_load((root / "remora.yaml").read_text()) is None


def test_settings_in_pyproject_are_not_configured_twice(root: Path, poor: Remora) -> None:
    write(root, {"pyproject.toml": PYPROJECT + "[tool.remora]\nexclude = ['a']\n"})
    done = poor("init", cwd=root)
    assert (done.code, "pyproject.toml already has settings" in done.err) == (2, True)
    assert not (root / "remora.yaml").exists()


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
    write(root, {"a.py": code + "# more\n"})
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
