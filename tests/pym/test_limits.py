"""A script that does its worst ends within its limits, and the next one runs as if nothing was."""

import math
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remora.pym import Limits, ScriptRun, load_source
from remora.pym.json_values import MAX_LEVELS
from remora.pym.outputs import TooDeepMarker

CLOCK = datetime(2025, 1, 1, tzinfo=UTC)
TIGHT = Limits(
    duration_s=0.5,
    memory_mb=32,
    recursion=100,
    host_calls=20,
    print_bytes=4096,
    result_bytes=400_000,
)


def run(source: str, limits: Limits = TIGHT) -> ScriptRun:
    script = load_source(source, name="bad")
    return script.run({}, {"f": lambda *_: "x" * 1000}, limits=limits, clock=CLOCK, seed=0)


EXTERNAL = "from grail import external\n@external\ndef f(a: object = None) -> str: ...\n"
EXPLODING = "x = ['aaaaaaaaaa']\nfor i in range(40):\n    x = [x, x]\n"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("while True:\n    pass\n", "time limit exceeded"),
        (
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
            "time",
        ),
        ("x = []\nwhile True:\n    x.append('a' * 100000)\n", "memory limit exceeded"),
        ("'a' * 10**9\n", "memory limit exceeded"),
        ("[0] * 10**9\n", "memory limit exceeded"),
        ("10 ** 10**8\n", "limit exceeded"),
        ("def f(n: int) -> int:\n    return f(n + 1)\nf(0)\n", "recursion"),
        ("for i in range(10**5):\n    print('x' * 1000)\n", "printed more than 4096 bytes"),
        (EXTERNAL + "while True:\n    f()\n", "more than 20 host calls"),
        (EXTERNAL + "for i in range(100):\n    [f(), f()]\n1\n", "more than 20 host calls"),
        ("'x' * (5 * 1024 * 1024)\n", "the result is larger than"),
        (EXPLODING + "x\n", "the result is larger than"),
        (
            "import os\nwhile True:\n    try:\n        os.listdir('/')\n    except OSError: pass\n",
            "",
        ),
    ],
)
def test_every_limit_holds(source: str, says: str) -> None:
    made = run(source)

    assert made.error is not None
    assert made.error.kind == "limit"
    assert says in made.error.message
    assert len(made.printed) <= TIGHT.print_bytes
    assert run("1 + 1\n").value == 2


@pytest.mark.slow
def test_an_argument_that_explodes_reaches_no_function() -> None:
    made = run(EXTERNAL + EXPLODING + "f(x)\n")

    assert made.error is not None
    assert "an argument is larger than" in made.error.message
    assert made.host_calls == ()


def test_an_answer_beyond_the_limit_raises_in_the_script() -> None:
    small = Limits(result_bytes=500)

    made = run(EXTERNAL + "f()\n", small)

    assert made.error is not None
    assert made.host_calls[0].error == "RuntimeError: the answer is larger than 500 bytes"


def test_what_all_calls_carry_together_is_bounded() -> None:
    source = EXTERNAL + "for i in range(20):\n    f('a' * 500)\n"

    made = run(source, Limits(carried_bytes=4000))

    assert made.error is not None
    assert (made.error.kind, made.error.line) == ("limit", 5)
    assert made.error.message == "bad.pym:5: host calls carried more than 4000 bytes"
    assert len(made.host_calls) == 3  # the one that was too much is on record


def test_time_in_the_host_is_bounded_too() -> None:
    script = load_source(EXTERNAL + "for i in range(20):\n    f()\n", name="slow")
    limits = Limits(wall_s=0.05)

    made = script.run({}, {"f": lambda *_: time.sleep(0.03)}, limits=limits, clock=CLOCK, seed=0)

    assert made.error is not None
    assert made.error.kind == "limit"
    assert len(made.host_calls) < 5


def test_the_beginning_of_what_was_printed_is_kept() -> None:
    made = run("print('ä' * 3000)\n1 / 0\n")

    assert made.printed == "ä" * 2048
    assert made.error is not None
    assert made.error.kind == "limit"


def test_messages_of_limits_are_the_same_each_time() -> None:
    messages = {str(run("while True:\n    pass\n", Limits(duration_s=0.1)).error) for _ in range(2)}

    assert messages == {"bad.pym: TimeoutError: feed time limit exceeded: more than 100ms"}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("(1, {3, 2}, None, True)\n", [1, [2, 3], None, True]),
        ("{1: 2, None: 3, (1, b'x'): 4}\n", {1: 2, None: 3, (1, b"x"): 4}),
        ("[-float('inf'), 1.5, 2**70, b'\\xff']\n", [-math.inf, 1.5, 2**70, b"\xff"]),
        ("from datetime import date\ndate(2025, 1, 2)\n", "2025-01-02"),
    ],
)
def test_a_result_is_as_it_was(source: str, value: object) -> None:
    made = run(source)

    assert made.error is None
    assert made.value == value


def test_a_result_that_is_not_a_number_stays_none() -> None:
    assert math.isnan(run("float('nan')\n").value)


@pytest.mark.parametrize("container", ["[x]", "{'a': x}", "(x,)", "{'a': x, 'b': 1}"])
@pytest.mark.parametrize("levels", [MAX_LEVELS, MAX_LEVELS + 1, 1_000])
def test_what_is_nested_deeper_is_marked(container: str, levels: int) -> None:
    value = run(f"x = 'x'\nfor _ in range({levels}):\n    x = {container}\nx\n").value
    found = 0
    while isinstance(value, dict | list):
        value = value["a"] if isinstance(value, dict) else value[0]
        found += 1

    assert found == MAX_LEVELS
    assert value == ("x" if levels == MAX_LEVELS else TooDeepMarker())


@pytest.mark.parametrize("source", ["class A: pass\nA()\n", "...\n", "{int: 3}\n"])
def test_an_object_breaks_the_contract(source: str) -> None:
    made = run(source)

    assert made.error is not None
    assert made.error.kind == "contract"


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration_s": 0},
        {"duration_s": 1000},
        {"memory_mb": 0},
        {"host_calls": -1},
        {"carried_bytes": 0},
        {"recursion": 9999},
    ],
)
def test_a_limit_that_is_none_cannot_be_set(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        Limits(**wrong)


ENDLESS = """
from datetime import UTC, datetime
from remora.pym import Limits, load_source
script = load_source("while True: pass", name="endless")
print("ready", flush=True)
script.run({}, {}, limits=Limits(duration_s=1.0), clock=datetime.now(UTC), seed=0)
"""


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
def test_a_worker_ends_when_its_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout as said:
        assert said.readline() == b"ready\n"
    workers = children(parent.pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10

    assert workers
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
