"""Installations in a fresh environment: the wheel with pip and uvx, and the steps of the Dockerfile."""

import asyncio
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from remora.config.user_folders import UserFolders
from remora.models.embedded.weights import weights_path
from remora.version import __version__
from tests.packages.conftest import ROOT
from tests.packages.server_manifest import client_command

BIN = Path(sys.executable).parent
WITHIN_S = 10
"""Longest wait for a user whose uv has the packages in its cache."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    return 1\n'


def run(words: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
    done = subprocess.run(words, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def registry() -> dict[str, str]:
    """Return the variables by which pip and uv find the registry, which is the user's choice."""
    kept = ("PIP_", "UV_", "SSL_CERT_")
    found = {key: os.environ[key] for key in os.environ if key.startswith(kept)}
    for variable, name in (
        ("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
        ("PIP_CONFIG_FILE", ".pip/pip.conf"),
        ("UV_CONFIG_FILE", ".config/uv/uv.toml"),
    ):
        if (Path.home() / name).exists() and variable not in os.environ:
            found[variable] = str(Path.home() / name)
    return found


def environment(folder: Path) -> dict[str, str]:
    """Make a virtual environment and a home folder; return the variables that select them."""
    venv.create(folder / "venv", with_pip=True)
    (folder / "home").mkdir()
    path = f"{folder / 'venv/bin'}:{os.environ['PATH']}"
    return {**registry(), "HOME": str(folder / "home"), "PATH": path, "LANG": "C.UTF-8"}


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
    run([command, "accept", "--untested", "last", "--all"], root, environ)
    assert "import os" not in (root / "a.py").read_text()
    return printed


def test_the_wheel_works_without_a_model(wheel: Path, tmp_path: Path) -> None:
    environ = environment(tmp_path)
    pip = [str(tmp_path / "venv/bin/pip"), "install", "-q"]
    run([*pip, "--require-hashes", "-r", str(ROOT / "requirements/core.txt")], tmp_path, environ)
    run([*pip, "--no-deps", "--no-index", str(wheel)], tmp_path, environ)
    printed = works(project(tmp_path), environ)
    assert printed.count("no model: rules only") == 1


@pytest.fixture(scope="module")
def warm_cache(dist: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run the wheel once with uvx; return the variables that select its cache, without a home."""
    folder = tmp_path_factory.mktemp("uv")
    (folder / "home").mkdir()
    environ = {
        **registry(),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "UV_CACHE_DIR": str(folder / "cache"),
        "UV_FIND_LINKS": str(dist),  # instead of the index, where a release would be
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
    }
    for words in (
        ["uvx", "--from", str(wheel), "remora", "--version"],
        ["uvx", "--from", str(wheel), "--with", "mcp", "remora", "--version"],
        [*client_command()[:-1], "--version"],
    ):
        printed = run(words, folder, {**environ, "HOME": str(folder / "home")})
        assert f"remora {__version__}\n" in printed
    return environ


@pytest.fixture
def newcomer(warm_cache: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The variables of a user with an empty home, and without a network to wait for."""
    (tmp_path / "home").mkdir()
    return {**warm_cache, "HOME": str(tmp_path / "home"), "UV_OFFLINE": "1"}


def processor_time() -> float:
    """Return the seconds of all commands that ended: the wait for them on an idle machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_uvx_checks_a_file_within_ten_seconds(
    wheel: Path, newcomer: dict[str, str], tmp_path: Path
) -> None:
    root = project(tmp_path)
    words = ["uvx", "--from", str(wheel), "remora", "check", "a.py"]
    before = processor_time()
    done = subprocess.run(
        words, cwd=root, env=newcomer, capture_output=True, text=True, check=False
    )
    assert 0.5 < processor_time() - before < WITHIN_S
    assert done.returncode == 1, done.stderr
    assert "a.py:1: lint F401: `os` imported but unused" in done.stdout


@pytest.mark.parametrize("source", ["wheel", "registry"])
def test_uvx_serves_mcp_within_ten_seconds(
    source: str, wheel: Path, newcomer: dict[str, str], tmp_path: Path
) -> None:
    from_wheel = ["uvx", "--from", str(wheel), "--with", "mcp", "remora", "mcp"]
    command, *arguments = from_wheel if source == "wheel" else client_command()
    server = StdioServerParameters(
        command=str(BIN / command), args=arguments, cwd=project(tmp_path), env=newcomer
    )

    async def tools() -> set[str]:
        async with Client(stdio_client(server, errlog=subprocess.DEVNULL)) as client:  # type: ignore[arg-type]
            return {tool.name for tool in (await client.list_tools()).tools}

    before = processor_time()
    assert {"context", "runs"} <= asyncio.run(tools())
    assert 0.5 < processor_time() - before < WITHIN_S


def docker_steps() -> list[str]:
    """Return the Dockerfile's commands, those that need root left out."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    found = re.findall(r"^RUN (?:--mount=\S+ )*(.*)$", text, re.MULTILINE)
    assert found[0].startswith("apt-get update")
    return found[1:]


def copied_names() -> list[str]:
    """Return the files and folders that the Dockerfile copies."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return [
        name
        for names in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE)
        for name in names.split()
    ]


def test_the_image_gets_every_file_that_it_copies() -> None:
    ignored, *kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert ignored == "*"
    assert sorted(copied_names()) == sorted(name[1:] for name in kept if name.startswith("!"))


@pytest.mark.parametrize("model", ["core", "embedded"])
def test_the_steps_of_the_dockerfile(tmp_path: Path, model: str) -> None:
    environ = {**environment(tmp_path), "MODEL": model}
    copied = tmp_path / "remora"
    copied.mkdir()
    for name in copied_names():
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
