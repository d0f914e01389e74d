"""`remora` as its users have it: a process, with folders of its own for configuration and cache."""

import atexit
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pytest

from remora.config.user_folders import UserFolders
from remora.models.embedded import weights
from remora.models.embedded.known_models import DEFAULT
from tests.forked_process import warm
from tests.openai_server import Server, answer, openai_server, send_json
from tests.platform_facilities import PASSED_ON

MODULE = '''"""Reads settings."""
import os
import sys


def read(path):
    """The settings in a file."""
    try:
        return open(path).read()
    except:
        return ""


def fine(a):
    """As it came."""
    return a
'''
"""Three findings: two unused imports, which a rule removes, and a bare except, a choice."""
SETTINGS = '[tool.ruff.lint]\nselect = ["E", "F"]\n'


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What `--json` printed: one document and nothing else."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error in that document, told on stderr too, never as a traceback."""
        found: dict[str, str] = self.document["error"]
        assert set(found) == {"code", "message", "hint"}
        assert "error: " in self.err
        assert "Traceback" not in self.err
        return found


@dataclass(frozen=True)
class Remora:
    """A user: a home, an environment."""

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    program: str = "remora"
    """Another one is a script."""

    @property
    def environment(self) -> dict[str, str]:
        """All that the process gets."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "REMORA_RUNNER__DECISIONS": "model",  # where there is one
            **PASSED_ON,
            **self.environ,
        }

    def start(self, *args: str | Path, cwd: Path) -> "subprocess.Popen[str]":
        """Begin a command, in a session of its own and open to signals."""
        return subprocess.Popen(
            command(args),
            cwd=cwd,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )

    def __call__(self, *args: str | Path, cwd: Path) -> Done:
        """Run a command to its end, in a process that needs not load everything anew."""
        if any(name.startswith("PYTHON") for name in self.environ):
            return self.afresh(*args, cwd=cwd)  # what only a process that starts takes notice of
        with TemporaryDirectory() as place:
            out, err = Path(place, "out"), Path(place, "err")
            line, environ = [self.program, *map(str, args)], self.environment
            code = warm().run(line, cwd=cwd, environ=environ, out=out, err=err)
            return Done(code, *(path.read_text("utf-8", "replace") for path in (out, err)))

    def afresh(self, *args: str | Path, cwd: Path, limit_s: float = 50) -> Done:
        """Run a command to its end, from the first instruction on."""
        process = self.start(*args, cwd=cwd)
        out, err = process.communicate(timeout=limit_s)
        return Done(process.returncode, out, err)


def on_terminal(
    remora: Remora, root: Path, *args: str, columns: int = 100, code: int = 0, typed: str = ""
) -> str:
    """Everything that a terminal gets to see of a command that ends with this code."""
    ours, theirs = pty.openpty()
    environ = {**remora.environment, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    line = [remora.program, *args]
    process = warm().start_on_terminal(line, cwd=root, environ=environ, terminal=theirs)
    os.close(theirs)
    os.write(ours, typed.encode())
    seen = b""
    while chunk := _read(ours):
        seen += chunk
    os.close(ours)
    assert process.wait(timeout=30) == code
    return seen.decode("utf-8", "replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def command(args: tuple[str | Path, ...]) -> list[str]:
    return [sys.executable, "-m", "remora", *map(str, args)]


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def new_repository(folder: Path) -> Path:
    """Make a folder a repository with one commit of all files."""
    git(folder, "init", "-q", "--template=")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of the user's, without Remora's and git's own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".git", ".agentfs"} & set(path.relative_to(folder).parts)
    }


def step_agent() -> dict[str, str]:
    """The files of a project's own agent `steps`: it lints one node in several turns.

    The built-in lint agent works on whole files in two turns and asks no model.
    """
    place = Path(__file__).parents[1] / "step_lint"
    files = [place / "agent.yaml", *place.glob("*/*.pym")]
    texts = {f".remora/agents/steps/{p.relative_to(place)}": p.read_text("utf-8") for p in files}
    definition = ".remora/agents/steps/agent.yaml"
    own_name = "name: steps\noperation: steps"
    texts[definition] = texts[definition].replace("name: lint\noperation: lint", own_name)
    return texts


def lint_project(folder: Path) -> Path:
    """A repository with one commit, three findings, and the agent of `step_agent`."""
    shutil.copytree(_lint_template(), folder, symlinks=True, dirs_exist_ok=True)
    return folder


@cache
def _lint_template() -> Path:
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    write(folder, {"src/settings.py": MODULE, "pyproject.toml": SETTINGS, **step_agent()})
    return new_repository(folder)


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder with the real weights, pulled once into the cache of whoever runs the tests."""
    cache = UserFolders.from_environ(os.environ).cache
    if not weights.check(cache).ok:
        weights.pull(cache)
    return weights.weights_path(cache).parent


def user_without_weights(home: Path) -> Remora:
    """A new user, whose runs use no model."""
    home.mkdir()
    return Remora(home)


def user(home: Path, models: Path) -> Remora:
    """A new user who has the weights of one model, which decides where it is asked for."""
    cache = home / "cache" / "remora"
    cache.mkdir(parents=True)
    (cache / "models").mkdir()
    (cache / "models" / DEFAULT.file).symlink_to(models / DEFAULT.file)
    return Remora(home, {"REMORA_RUNNER__DECISIONS": "rules"})


@pytest.fixture
def remora(tmp_path: Path, models: Path) -> Remora:
    return user(tmp_path / "home", models)


@pytest.fixture
def poor(tmp_path: Path) -> Remora:
    """A user without the weights."""
    return user_without_weights(tmp_path / "home")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return lint_project(tmp_path / "project")


@pytest.fixture
def listener() -> Iterator[Server]:
    """A model server that calls no tool, and records the key of each request."""
    with openai_server(
        lambda handler, *_: send_json(handler, answer(text="no")), model="odd"
    ) as it:
        yield it


def check_records(user: Remora, root: Path) -> None:
    """Check that all streams of a project are whole and fold to what was decided on."""
    for command in ("verify", "replay"):
        done = user("trace", command, cwd=root)
        assert done.code == 0, done.out


CART = '''\
class Cart:
    """A cart."""

    def add(self, item, count=1):
        self.items += [item] * count
'''


def cart_project(folder: Path, more: Mapping[str, str] | None = None) -> Path:
    """A repository with one function, which needs a docstring and types."""
    root = write(folder / "cart", {"cart.py": CART, **(more or {})})
    git(root, "init", "-q")
    return root


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    return cart_project(tmp_path)


@dataclass(frozen=True)
class Ran:
    """A project in which `analyze` ran once."""

    remora: Remora
    root: Path
    before: dict[str, bytes]
    analyzed: Done

    def __call__(self, *args: str) -> Done:
        return self.remora(*args, cwd=self.root)

    @property
    def job(self) -> dict[str, Any]:
        """The job in which a model has a choice."""
        jobs: list[dict[str, Any]] = self.analyzed.document["jobs"]
        return next(job for job in jobs if job["node_id"].endswith(":read"))


def run_in(folder: Path, remora: Remora) -> Ran:
    (folder / "project").mkdir()
    root = lint_project(folder / "project")
    before = tree(root)
    return Ran(remora, root, before, remora("analyze", "src", "-o", "steps", "--json", cwd=root))


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Without a model, and only for tests that read."""
    folder = tmp_path_factory.mktemp("ran")
    return run_in(folder, user_without_weights(folder / "home"))


@pytest.fixture
def agent(ran: Ran) -> str:
    """The agent that had a choice."""
    found: str = ran.job["agent_id"]
    return found


@pytest.fixture
def ran_alone(ran: Ran) -> Iterator[Ran]:
    """The same for a test that changes something: what it was is restored afterwards."""
    folder = ran.root.parent
    kept = folder.with_name(f"{folder.name}-kept")
    shutil.copytree(folder, kept, symlinks=True)
    yield ran
    shutil.rmtree(folder)
    kept.rename(folder)
