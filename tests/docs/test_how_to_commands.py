"""Commands of the how-to pages run on a small project and do not fail."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import git, write
from tests.platform_facilities import PASSED_ON
from tests.quality.test_readme import commands

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/how-to").glob("*.md"))
ELSEWHERE = re.compile(
    r"--model\b|--decisions model|--arm|http:|\bmodel pull|database|worker|--engine|\bui\b|remora mcp|--http"
    r"|hub start|hub stop|format html|\beval\b|judge --diff|origin/|trace fork|--resume"
    r"|remora review|remora watch|init\b|lint-3f2a"
)
"""Commands that need a model, a server, a terminal, an extra or another repository."""
FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n'
    '[tool.ruff.lint]\nselect = ["F"]\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "src/shop/__init__.py": "",
    "src/shop/orders.py": "import os\n\n\ndef load_orders(path):\n"
    '    """Load.\n\n    Args:\n        path: A file.\n        encoding: How.\n    """\n'
    "    return open(path).read()\n\n\ndef parse_config(text):\n    import json\n\n"
    "    return load_orders(text)\n",
    "tests/test_orders.py": "from shop.orders import parse_config\n\n\n"
    "def test_it():\n    assert parse_config\n",
}
ASKS = {
    "remora clean": "use --yes",
    "remora clean --older-than 30": "use --yes",
    "remora analyze -o test --allow-unsandboxed": "has no .venv",
    "remora accept last load_orders --hunk 1 --hunk 3": "no such hunks: 3",
}
"""What commands say that need an answer, an environment or another change."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    root = tmp_path_factory.mktemp("how_to") / "shop"
    root.mkdir()
    write(root, FILES)
    git(root, "init", "-q")
    git(root, "config", "user.name", "me")
    git(root, "config", "user.email", "me@localhost")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    environ = {
        "HOME": str(root.parent),
        **PASSED_ON,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
    }
    return root, environ


def runnable(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    shown = [*commands(text), *re.findall(r"(?m)^\$ (remora .*)$", text)]
    mine = [command for command in shown if command.startswith("remora ")]
    return [
        command.replace("/NAME/", "/removecomments/")
        for command in mine
        if not ELSEWHERE.search(command)
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, shop: tuple[Path, dict[str, str]]) -> None:
    root, environ = shop
    bash = shutil.which("bash") or "bash"
    failed = {}
    for command in ["remora -q analyze", *runnable(page), "git checkout -q . ; git clean -qfd"]:
        done = subprocess.run(
            [bash, "-c", command],
            cwd=root,
            env=environ,
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        if command in ASKS and ASKS[command] in said:
            continue
        if done.returncode not in (0, 1) or "bug in Remora" in said or "Traceback" in said:
            failed[command] = (done.returncode, said[-300:])
    assert failed == {}
