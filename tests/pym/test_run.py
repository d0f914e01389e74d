"""Script runs: inputs, result and recorded host calls."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from remora.errors import HostError
from remora.pym import HostCall, Limits, ScriptRun, load_source, replay

CLOCK = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)


def run(
    source: str,
    inputs: Mapping[str, Any] | None = None,
    externals: Mapping[str, Callable[..., Any]] | None = None,
    *,
    limits: Limits | None = None,
    seed: int = 1,
) -> ScriptRun:
    script = load_source(source, name="tool")
    return script.run(
        inputs or {}, externals or {}, limits=limits or Limits(), clock=CLOCK, seed=seed
    )


EXTERNAL = "from remora.pym import external\n@external\n"


def test_the_last_expression_is_the_value() -> None:
    made = run("x = 20\nprint('hello')\nx + 1\n")

    assert (made.value, made.printed, made.error) == (21, "hello\n", None)


def test_python_that_our_own_python_may_not_parse_runs() -> None:
    made = run('d = {"a": 1}\nf"{d["a"]} {"q" + f"{d["a"]}"}"\n')

    assert made.value == "1 q1"


def test_inputs_are_given_or_take_their_default() -> None:
    source = (
        'from grail import Input\na: int = Input("a")\nb: int = Input("b", default=2)\n[a, b]\n'
    )

    assert run(source, {"a": 1}).value == [1, 2]
    assert run(source, {"a": 1, "b": 5}).value == [1, 5]


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({}, "missing argument: a"),
        ({"a": "x"}, "a: 'x' is not of type 'integer'"),
        ({"a": 1, "c": 1}, "unknown argument: c (it takes a)"),
        ({"a": True}, "True is not of type"),
    ],
)
def test_inputs_that_do_not_fit_are_a_contract_error(inputs: dict[str, Any], says: str) -> None:
    made = run('from grail import Input\na: int = Input("a")\na\n', inputs)

    assert made.error is not None
    assert made.error.kind == "contract"
    assert says in made.error.message


def test_externals_are_called_and_recorded() -> None:
    source = EXTERNAL + "def add(a: int, b: int = 0) -> int: ...\nadd(1, b=2) + add(3)\n"

    made = run(source, externals={"add": lambda a, b=0: a + b})

    assert made.value == 6
    assert [(call.name, call.args, call.kwargs, call.result) for call in made.host_calls] == [
        ("add", [1], {"b": 2}, 3),
        ("add", [3], {}, 3),
    ]


def test_an_external_may_be_stored_and_passed_on() -> None:
    source = EXTERNAL + "def f(a: int) -> int: ...\ng = f\n[h(2) for h in [g, f]]\n"

    assert run(source, externals={"f": lambda a: a + 1}).value == [3, 3]


def test_host_errors_raise_in_the_script() -> None:
    def fails() -> int:
        raise HostError("a.py: no such\nfile")

    source = (
        EXTERNAL
        + "def f() -> int: ...\ntry:\n    f()\nexcept RuntimeError as e:\n    x = str(e)\nx\n"
    )

    made = run(source, externals={"f": fails})

    assert made.value == "a.py: no such file"
    assert made.host_calls[0].error == "RuntimeError: a.py: no such file"


def test_uncaught_errors_name_their_line() -> None:
    def fails() -> int:
        raise KeyError("gone")

    made = run(EXTERNAL + "def f() -> int: ...\n\nf()\n", externals={"f": fails})

    assert made.error is not None
    assert (made.error.kind, made.error.line) == ("runtime", 5)
    assert made.error.message == "tool.pym:5: KeyError: 'gone'"
    assert made.value is None


def test_an_external_that_was_not_granted_is_denied_and_cannot_be_caught() -> None:
    source = EXTERNAL + "def f() -> int: ...\ntry:\n    f()\nexcept BaseException:\n    pass\n1\n"

    made = run(source)

    assert made.error is not None
    assert (made.error.kind, made.error.line) == ("denied", 5)
    assert made.host_calls[0].error is not None


def test_only_declared_functions_can_be_called() -> None:
    made = run("def f():\n    return eval('secret()')\nf()\n", externals={"secret": lambda: 1})

    assert made.error is not None
    assert made.error.kind == "runtime"
    assert made.host_calls == ()


@pytest.mark.parametrize(
    "source",
    [
        "from pathlib import Path\nPath('/etc/passwd').read_text()\n",
        "import os\nos.listdir('/')\n",
        "import os\nos.environ['HOME']\n",
        "from pathlib import Path\nPath('/tmp/written-by-a-script').write_text('x')\n",
    ],
)
def test_nothing_of_the_machine_can_be_reached(source: str) -> None:
    made = run(source)

    assert made.error is not None
    assert made.error.kind == "runtime"


def test_clock_and_randomness_are_given() -> None:
    source = (
        "import random, time\nfrom datetime import datetime\ntime.sleep(1000)\n"
        "[time.time(), datetime.now(), random.random(), random.randint(0, 10**9)]\n"
    )

    first, again, other = run(source), run(source), run(source, seed=2)

    assert first.error is None
    assert first.value[:2] == [CLOCK.timestamp(), "2025-03-04T05:06:07"]
    assert first.value == again.value
    assert first.value[2:] != other.value[2:]


def test_a_run_replays_without_the_host() -> None:
    source = (
        EXTERNAL + "def f(a: int) -> int: ...\ntry:\n    f(0)\nexcept ValueError as e:\n"
        "    x = str(e)\nimport random\n[x, f(1), f(2), random.random()]\n"
    )

    def host(a: int) -> int:
        if a == 0:
            raise ValueError("none")
        return a * 7

    script = load_source(source, name="tool")
    made = script.run({}, {"f": host}, limits=Limits(), clock=CLOCK, seed=3)

    again = replay(script, {}, made.host_calls, limits=Limits(), clock=CLOCK, seed=3)

    assert made.error is None
    assert (again.value, again.printed, again.host_calls) == (
        made.value,
        made.printed,
        made.host_calls,
    )


@pytest.mark.parametrize(
    "recorded",
    [
        (),
        (HostCall(name="f", args=[2], result=1),),
        (HostCall(name="g", args=[1], result=1),),
        (HostCall(name="f", args=[1], result=1), HostCall(name="f", args=[1], result=1)),
    ],
)
def test_a_replay_that_leaves_the_recording_says_so(recorded: tuple[HostCall, ...]) -> None:
    script = load_source(EXTERNAL + "def f(a: int) -> int: ...\nf(1)\n", name="tool")

    made = replay(script, {}, recorded, limits=Limits(), clock=CLOCK, seed=0)

    assert made.error is not None
    assert made.error.kind == "contract"


def test_a_denied_call_replays_as_denied() -> None:
    script = load_source(EXTERNAL + "def f() -> int: ...\nf()\n", name="tool")
    made = script.run({}, {}, limits=Limits(), clock=CLOCK, seed=0)

    again = replay(script, {}, made.host_calls, limits=Limits(), clock=CLOCK, seed=0)

    assert again.error is not None
    assert again.error.kind == "denied"


def test_a_function_that_is_a_coroutine_is_refused_and_closed() -> None:
    async def late() -> int:
        return 1

    made = run(EXTERNAL + "def f() -> int: ...\nf()\n", externals={"f": late})

    assert made.error is not None
    assert "coroutine" in made.error.message


def test_many_threads_run_scripts_at_once() -> None:
    script = load_source(
        "from grail import Input, external\nn: int = Input('n')\n"
        "@external\ndef f(n: int) -> int: ...\nf(n)\n",
        name="tool",
    )
    together = threading.Barrier(8, timeout=20)

    def host(n: int) -> int:
        together.wait()  # all eight are inside a run now
        return n * 2

    def one(n: int) -> Any:
        return script.run({"n": n}, {"f": host}, limits=Limits(), clock=CLOCK, seed=0).value

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(one, range(8))) == [n * 2 for n in range(8)]
