"""Installations in a fresh environment: the wheel without a model, and the steps of the Dockerfile."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from remora.config.user_folders import UserFolders
from remora.models.embedded.weights import weights_path

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    return 1\n'


def run(words: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    done = subprocess.run(words, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def environment(folder: Path) -> dict[str, str]:
    """Make a virtual environment and a home folder; return the variables that select them."""
    venv.create(folder / "venv", with_pip=True)
    (folder / "home").mkdir()
    kept = {key: os.environ[key] for key in os.environ if key.startswith("PIP_")}
    for name in (".config/pip/pip.conf", ".pip/pip.conf"):  # which registry: the user's choice
        if (Path.home() / name).exists() and "PIP_CONFIG_FILE" not in os.environ:
            kept["PIP_CONFIG_FILE"] = str(Path.home() / name)
    path = f"{folder / 'venv/bin'}:{os.environ['PATH']}"
    return {**kept, "HOME": str(folder / "home"), "PATH": path, "LANG": "C.UTF-8"}


def project(folder: Path) -> Path:
    root = folder / "project"
    root.mkdir()
    (root / "a.py").write_text(UNUSED)
    (root / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    return root


def works(root: Path, environ: Mapping[str, str]) -> str:
    """Fix the project with the installed command; return what `analyze` prints."""
    python = shutil.which("python", path=environ["PATH"])
    assert python is not None
    code = "import remora; print(remora.__file__)"
    assert str(ROOT / "src") not in run([python, "-I", "-c", code], root, environ)
    command = shutil.which("remora", path=environ["PATH"])
    assert command is not None
    assert Path(command).parent == Path(python).parent
    printed = run([command, "analyze", "-o", "lint"], root, environ)
    run([command, "accept", "last", "--all"], root, environ)
    assert "import os" not in (root / "a.py").read_text()
    return printed


def test_the_wheel_works_without_a_model(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    run(build, ROOT, environ)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for path in (ROOT / "src/remora").rglob("*"):
        if path.suffix in {".py", ".pym", ".yaml"}:
            assert path.relative_to(ROOT / "src").as_posix() in names
    pip = [str(tmp_path / "venv/bin/pip"), "install", "-q"]
    run([*pip, "--require-hashes", "-r", str(ROOT / "requirements/core.txt")], tmp_path, environ)
    run([*pip, "--no-deps", "--no-index", str(wheel)], tmp_path, environ)
    printed = works(project(tmp_path), environ)
    assert printed.count("no model: rules only") == 1


def docker_steps() -> list[str]:
    """Return the Dockerfile's commands, those that need root left out."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    found = re.findall(r"^RUN (?:--mount=\S+ )*(.*)$", text, re.MULTILINE)
    assert found[0].startswith("apt-get update")
    return found[1:]


@pytest.mark.parametrize("model", ["core", "embedded"])
def test_the_steps_of_the_dockerfile(tmp_path: Path, model: str) -> None:
    environ = {**environment(tmp_path), "MODEL": model}
    copied = tmp_path / "remora"
    copied.mkdir()
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for names in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE):
        for name in names.split():
            target = copied / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, target)
    weights = weights_path(UserFolders.from_environ(os.environ).cache)
    for step in docker_steps():
        offline = step.replace("pull --quiet", f"pull --quiet --from {weights}")
        run(["sh", "-euc", offline], copied, environ)
    status = json.loads(run(["remora", "model", "status", "--json"], copied, environ))
    assert status["weights"]["ok"] == (model == "embedded")
    assert "no model: rules only" in works(project(tmp_path), environ)  # lint asks none
