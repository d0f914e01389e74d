"""`remora init` looks at the project, says what it found and writes a short file."""

from pathlib import Path
from shutil import rmtree

import pytest
import yaml

from tests.cli.conftest import Remora, write

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
