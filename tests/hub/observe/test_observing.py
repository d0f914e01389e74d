"""Observation of a real pytest run: which node calls which, which test enters which node."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from remora.code.file_analysis import read_facts
from remora.errors import HostError, UsageError
from remora.hub.node import ObservedValues
from remora.hub.observe.observed_run import (
    ObservedRun,
    PytestOptions,
    pytest_command,
    run_tests,
)
from remora.hub.observed_links import Observation, ObservedCall
from remora.hub.query.snapshots import MemorySnapshot
from remora.sandbox.interpreters import ProjectPython
from remora.sandbox.isolation import best_level

APP = '''"""An app."""


def low():
    """Lowest."""
    return 1


def numbers():
    yield low()


class A:
    def run(self):
        return [low() for _ in range(2)]


def use():
    for _ in numbers():
        pass
    return A().run()


def through(function):
    return function()
'''
TESTS = """import threading

import pytest

import app


@pytest.fixture
def a():
    return app.A()


@pytest.mark.parametrize("n", [1, 2])
def test_use(n):
    assert app.use()


class TestA:
    def test_run(self, a):
        assert a.run()

    @pytest.mark.skip
    def test_not_now(self):
        app.low()


def test_thread():
    thread = threading.Thread(target=app.low)
    thread.start()
    thread.join()


def test_lambda():
    assert app.through(lambda: app.low())


def test_that_fails():
    assert app.low() == 2
"""


def look_in(root: Path, *, but: Mapping[str, bytes] | None = None) -> MemorySnapshot:
    """Every Python file below `root` as it is, or as it is said to be."""
    now = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.py")} | dict(
        but or {}
    )
    return MemorySnapshot({path: read_facts(path, source) for path, source in now.items()})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    (folder / "tests" / "test_app.py").write_text(TESTS)
    return folder


class Observe(Protocol):
    """Runs the tests of a project as `hub observe` does."""

    def __call__(
        self, root: Path, *words: str, seconds: float = 60, **changed: bytes
    ) -> ObservedRun: ...


@pytest.fixture
def observe(plain_python: ProjectPython) -> Observe:
    def run(root: Path, *words: str, seconds: float = 60, **changed: bytes) -> ObservedRun:
        with (root.parent / "out.txt").open("w") as out:
            asked = PytestOptions(
                words=words,
                folder=root,
                seconds=seconds,
                stdout=out.fileno(),
                colors=False,
                trusted=False,
            )
            but = {f"{name}.py": source for name, source in changed.items()}
            return run_tests(root, plain_python.python, asked, lambda _: look_in(root, but=but))

    return run


def calls(observation: Observation) -> set[tuple[str, str]]:
    return {
        (call.caller.removeprefix("node:"), call.callee.removeprefix("node:"))
        for call in observation.calls
    }


def test_a_run_is_seen_as_nodes_and_tests(observe: Observe, root: Path) -> None:
    ran = observe(root, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert (ran.code, ran.timed_out, ran.isolation) == (1, False, f"L{best_level()}")
    assert "1 failed, 5 passed, 1 skipped" in (root.parent / "out.txt").read_text()
    observation = ran.read.observation
    assert ran.read.complete
    assert ran.read.left_out == ()
    file = "tests/test_app.py"
    assert calls(observation) == {
        ("app.py:use", "app.py:numbers"),
        ("app.py:use", "app.py:A.run"),
        ("app.py:numbers", "app.py:low"),
        ("app.py:A.run", "app.py:low"),
        (f"{file}:test_use", "app.py:use"),
        (f"{file}:TestA.test_run", "app.py:A.run"),
        (f"{file}:test_lambda", "app.py:through"),
        (f"{file}:test_lambda", "app.py:low"),
        (f"{file}:test_that_fails", "app.py:low"),
    }
    tests = {
        (test.id, test.node.removeprefix("node:"))
        for test in observation.tests
        if "app.py" in test.node
    }
    assert {pair for pair in tests if pair[1].startswith("app.py")} == {
        (f"{file}::test_use", "app.py:use"),
        (f"{file}::test_use", "app.py:numbers"),
        (f"{file}::test_use", "app.py:A.run"),
        (f"{file}::test_use", "app.py:low"),
        (f"{file}::TestA::test_run", "app.py:A.run"),
        (f"{file}::TestA::test_run", "app.py:low"),
        (f"{file}::test_thread", "app.py:low"),
        (f"{file}::test_lambda", "app.py:through"),
        (f"{file}::test_lambda", "app.py:low"),
        (f"{file}::test_that_fails", "app.py:low"),
    }
    assert f"{file}::TestA::test_not_now" not in observation.ran
    assert len(observation.ran) == 5


VALUES = """
import enum
from collections import OrderedDict
from pathlib import Path


class Base:
    pass


class Colour(enum.Enum):
    RED = 1


def join(parts, sep=", ", *rest, **more):
    return sep.join(parts)


def price(amount, rate=0.5):
    if rate < 0:
        raise ValueError(rate)
    return amount * rate


def each(items):
    for item in items:
        yield item


async def later(n):
    return [n]


def take(thing):
    return thing
"""
VALUES_TESTS = """
import asyncio
from unittest.mock import Mock

import pytest
from values import *


def test_values():
    class Local(Base):
        pass

    assert join(["a", "b"]) == join(("a", "b"), ", ", 1, x=None)
    price(3)
    with pytest.raises(ValueError):
        price(2, -1)
    list(each({1: {"a"}}))
    asyncio.run(later(3))
    for thing in (Local(), Colour.RED, Mock(), Path(), int, len, OrderedDict(), {}.keys()):
        take(thing)
"""


def test_types_of_arguments_and_results_are_seen(observe: Observe, root: Path) -> None:
    (root / "values.py").write_text(VALUES)
    (root / "tests" / "test_app.py").write_text(VALUES_TESTS)
    ran = observe(root, "python", "-m", "pytest", "-q")
    assert ran.code == 0, (root.parent / "out.txt").read_text()
    seen = {f.node.rpartition(":")[2]: f.values for f in ran.read.observation.functions}
    assert seen["join"] == ObservedValues(
        parameters={
            "parts": ("list[str]", "tuple[str, str]"),
            "sep": ("str",),
            "rest": ("int",),
            "more": ("None",),
        },
        returns=("str",),
    )
    assert seen["price"].returns == ("float",), "an exception is not a returned None"
    assert (seen["each"].yields, seen["each"].returns) == (("int",), ())
    assert seen["each"].parameters == {"items": ("dict[int, set[str]]",)}
    assert (seen["later"].returns, seen["later"].yields) == (("list[int]",), ())
    assert seen["take"].parameters["thing"] == (
        "values.Base",
        "values.Colour",
        "pathlib.Path",
        "type[int]",
        "collections.abc.Callable",
        "collections.OrderedDict",
        "collections.abc.KeysView",
    )


def test_lines_are_kept_above_the_callers_end(observe: Observe, root: Path) -> None:
    ran = observe(root, "python", "-m", "pytest", "-q", "-k", "test_use")
    (found,) = [c for c in ran.read.observation.calls if c.callee == "node:app.py:A.run"]
    assert found == ObservedCall(
        caller="node:app.py:use",
        callee="node:app.py:A.run",
        anchor=found.anchor,
        above_end=(0,),
    )
    (loop,) = [c for c in ran.read.observation.calls if c.callee == "node:app.py:numbers"]
    assert loop.above_end == (2,)


def test_a_file_that_changed_meanwhile_is_left_out(observe: Observe, root: Path) -> None:
    ran = observe(root, "python", "-m", "pytest", "-q", app=APP.encode() + b"\n\nx = 1\n")
    assert ran.read.left_out == ("app.py",)
    assert all(
        "app.py:" not in callee
        for _, callee in calls(ran.read.observation)
        if callee.startswith("app")
    )


def test_plain_pytest_does_not_see_the_folder_it_was_typed_in(observe: Observe, root: Path) -> None:
    (root / "tests" / "conftest.py").write_text("import sys\nassert '' not in sys.path\n")
    ran = observe(root, "pytest", "-q")
    assert ran.code == 2, "app cannot be imported: nothing put the root on the path"
    assert ran.read.observation.ran == ()


def test_tests_see_nothing_of_our_environment(
    observe: Observe, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMORA_API_KEY", "secret")
    (root / "tests" / "test_app.py").write_text(
        "import os\n\n\ndef test_env():\n    assert 'REMORA_API_KEY' not in os.environ\n"
    )
    assert observe(root, "pytest", "-q").code == 0


@pytest.mark.slow
def test_time_is_limited_and_what_was_seen_until_then_is_kept(observe: Observe, root: Path) -> None:
    (root / "tests" / "test_app.py").write_text(
        "import time\n\nimport app\n\n\ndef test_quick():\n    app.low()\n\n\n"
        "def test_endless():\n    time.sleep(600)\n"
    )
    ran = observe(root, "python", "-m", "pytest", "-q", seconds=10)
    assert ran.timed_out
    assert ran.read.observation.ran == ("tests/test_app.py::test_quick",)


def test_time_that_is_too_short_for_pytest_itself_is_reported_as_that(root: Path) -> None:
    slow = root / "python"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    asked = PytestOptions(
        words=["pytest"], folder=root, seconds=0.2, colors=False, stdout=1, trusted=False
    )
    ran = run_tests(root, slow, asked, lambda _: look_in(root))
    assert ran.timed_out
    assert ran.code != 0
    assert ran.read.observation.ran == ()


@pytest.mark.parametrize(
    ("script", "hint"), [("kill -SEGV $$", "killed by a signal"), ("exit 1", "install pytest")]
)
def test_an_interpreter_that_cannot_run_pytest_is_an_error(
    root: Path, script: str, hint: str
) -> None:
    broken = root / "python"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    asked = PytestOptions(
        words=["pytest"], folder=root, seconds=20, colors=False, stdout=1, trusted=False
    )
    with pytest.raises(HostError, match="did not run pytest") as told:
        run_tests(root, broken, asked, lambda _: look_in(root))
    assert hint in told.value.hint


def test_forged_records_are_only_text(observe: Observe, root: Path) -> None:
    (root / "tests" / "test_app.py").write_text(
        "import glob, os\n\n\ndef test_a():\n"
        "    out = os.environ['REMORA_OBSERVE_OUT']\n"
        "    with open(out + '/0.jsonl', 'w') as file:\n"
        '        file.write(\'["file",0,"../../etc/passwd","x"]\\n\')\n'
        '        file.write(\'["code",0,7,1,"a",null]\\n["call",0,1,9]\\n{}\\n\\x00\')\n'
        '        file.write(\'["test","\\x00",[],[1],true]\\n\')\n'
    )
    ran = observe(root, "pytest", "-q")
    assert ran.code == 0
    assert not ran.read.complete
    assert ran.read.observation.calls == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "left",
    [
        "os.mkfifo(out + '/x.jsonl')",
        "os.symlink('/dev/zero', out + '/x.jsonl')",
        "os.mkdir(out + '/x.jsonl')",
        "os.chdir(out)\n    for _ in range(1500):\n        os.mkdir('d')\n        os.chdir('d')",
    ],
    ids=["a pipe", "a device", "a folder", "a deep folder"],
)
def test_results_of_a_hostile_process_are_read_up_to_a_limit(
    observe: Observe, root: Path, left: str
) -> None:
    code = f"import os\n\n\ndef test_a():\n    out = os.environ['REMORA_OBSERVE_OUT']\n    {left}\n"
    (root / "tests" / "test_app.py").write_text(code)
    ran = observe(root, "pytest", "-q")
    assert ran.code == 0
    assert ran.read.observation.calls == ()


def test_pytest_in_a_fork_or_its_child_harms_nothing(observe: Observe, root: Path) -> None:
    (root / "tests" / "test_app.py").write_text(
        "import os\n\n\ndef low():\n    return 1\n\n\n"
        "def test_fork():\n    child = os.fork()\n    if child == 0:\n        low()\n"
        "        raise SystemExit(0)\n    os.waitpid(child, 0)\n\n\n"
        "def test_after():\n    assert low()\n"
    )
    ran = observe(root, "pytest", "-q")
    assert ("tests/test_app.py:test_after", "tests/test_app.py:low") in calls(ran.read.observation)


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (["pytest", "-q"], ["-q"]),
        (["python", "-m", "pytest", "a"], ["a"]),
        (["/x/bin/python3", "-m", "pytest"], []),
        (["py.test"], []),
    ],
)
def test_pytest_is_understood(words: list[str], rest: list[str]) -> None:
    command = pytest_command(Path("/p/python"), words)
    assert command[0] == "/p/python"
    assert command[3:] == rest


@pytest.mark.parametrize("words", [[], ["rm", "-rf", "x"], ["python", "pytest"], ["tox"]])
def test_nothing_else_is_run(words: list[str]) -> None:
    with pytest.raises(UsageError, match="only pytest"):
        pytest_command(Path("/p/python"), words)
