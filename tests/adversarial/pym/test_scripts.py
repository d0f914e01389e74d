"""Scripts that do their worst: each is stopped, its end is on record, and nothing outside is touched."""

import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.agents.loop import tool_execution
from remora.bootstrap.operations import BUILT_IN
from remora.chat import ToolCall
from remora.errors import ScriptError
from remora.memory.decode_values import decode_value
from remora.memory.events import ToolResulted, payload
from remora.pym import Limits, Script, load, load_source
from remora.tools.tool import Tool, ToolRun, failed_load, replay_tool, run_tool
from remora.tools.tree import ToolTree
from remora.trace.read.reader import read_events
from remora.trace.redact.redactor import Redactor
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.adversarial.pym.trap_tree import GITHUB, SENTINEL, Ground, children, planted, swapping
from tests.clock import ticking
from tests.stream_writer import open_emitter

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.pym"))
CLOCK = datetime(2025, 1, 1, tzinfo=UTC)
LIMITS = Limits(memory_mb=32, recursion=200, host_calls=70, print_bytes=4096, carried_bytes=2**24)
SHORT = msgspec.structs.replace(LIMITS, duration_s=0.3)
LONG = frozenset(
    [
        "json_indented_by_billions",
        "link_swapped_in_while_ruff_looks",
        "exploding_comparison",
        "print_with_a_huge_separator",
        "growing_product",
        "exploding_result",
        "loop_in_finally",
        "host_called_with_arguments_that_are_too_huge",
        "external_with_an_exploding_argument",
        "await_in_a_loop",
        "quadratic_replace",
        "candidates_without_end",
        "regex_that_looks_ahead_everywhere",
        "binomial_without_end",
        "regexes_without_end",
        "quadratic_count",
        "loops_within_loops",
        "print_without_end",
        "sorting_that_never_ends",
        "quadratic_concatenation",
        "loop_that_catches_everything",
        "recursion_that_is_caught",
        "common_multiple_without_end",
        "text_of_an_exploding_list",
        "join_of_millions",
        "encoded_to_four_times_its_size",
    ]
)
"""Scripts that take a third of a second and more; `loop` and others end at the same limits."""
PARAMETERS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in LONG else [])
    for path in SCRIPTS
]
KINDS = {"none", "syntax", "typing", "runtime", "limit", "crashed", "contract", "denied"}
_SAID = re.compile(r"# (\w+): (.*)")


def demands(path: Path) -> dict[str, str]:
    """The first lines of a script, by word."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        said = _SAID.fullmatch(line)
        if said is None:
            break
        found[said[1]] = said[2]
    return found


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("REMORA_ADVERSARIAL_SECRET", SENTINEL)
    (tmp_path / "ground").mkdir()
    made = planted(tmp_path / "ground")
    monkeypatch.chdir(made.tree)
    return made


def limits(path: Path) -> Limits:
    """Little time for what goes on until it is stopped, enough for everything else."""
    wanted = demands(path)
    if "swapped" in path.stem:
        return msgspec.structs.replace(LIMITS, host_calls=1000)
    endless = wanted["expect"] == "limit" and wanted.get("says", "time") in "time limit"
    return SHORT if endless else LIMITS


def a_tool(script: Script, grants: str) -> Tool:
    granted = tuple(BUILT_IN.host_functions[name] for name in grants.split())
    return Tool(name="bad", description="", script=script, grants=granted)


def run(path: Path, ground: Ground) -> ToolRun:
    """As every tool is run; a race has somebody who swaps folders for links meanwhile."""
    try:
        tool = a_tool(load(path), demands(path).get("grants", ""))
    except ScriptError as error:
        return failed_load(path.stem, error, clock=CLOCK, seed=1)
    meanwhile = swapping(ground) if "swapped" in path.stem else nullcontext()
    with meanwhile:
        return run_tool(tool, {}, ToolTree(ground.tree), clock=CLOCK, seed=1, limits=limits(path))


def recorded(run: ToolRun, folder: Path) -> tuple[ToolResulted, bytes]:
    """The run as a stream holds it, read back from the file."""
    trace = TraceFolder(folder)
    folder.mkdir()
    trace.create()
    path = trace.agent_stream("own-0123456789ab")
    identity = Identity("run-1", "own-0123456789ab", "own", "node:a.py:f")
    kept = Redactor(key=bytes(32)).clean(
        tool_execution.ToolExecution(
            result=tool_execution.delta_input(run), record=tool_execution._for_event(run, "")
        )
    )
    call = ToolCall(tool="bad", args={})
    with open_emitter(
        path, identity, blobs=trace.blobs, objects=trace.objects, clock=ticking()
    ) as writer:
        writer.emit(tool_execution.tool_result(call, kept, (), None), turn=1)
    (event,) = read_events(path)
    found = payload(event)
    assert isinstance(found, ToolResulted)
    return found, path.read_bytes()


def outcome(run: ToolRun) -> tuple[Any, ...]:
    calls = [msgspec.structs.replace(call, duration_ms=0) for call in run.host_calls]
    return repr(run.raw_output), run.printed, run.result.error, run.error_kind, calls


def without_message(run: ToolRun) -> ToolRun:
    return msgspec.structs.replace(run, result=msgspec.structs.replace(run.result, error=""))


def test_at_least_the_expected_number_of_scripts_exists() -> None:
    assert len(SCRIPTS) >= 290


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_hostile_script_is_stopped_and_recorded(
    path: Path, ground: Ground, tmp_path: Path
) -> None:
    wanted = demands(path)
    before, alive = ground.around(), children()

    made = run(path, ground)

    assert ground.around() == before
    assert children() <= alive
    event, raw = recorded(made, tmp_path / "records")
    kinds = wanted["expect"].split()
    assert set(kinds) <= KINDS
    assert (event.error_kind or "none") in kinds, event.error
    assert event.outcome == ("success" if event.error_kind is None else "error")
    if event.error_kind is not None:
        assert event.error
        assert len(event.error) < 1000
        assert not set("\r\n") & set(event.error)
        assert wanted.get("says", "") in event.error
    if "value" in wanted:
        assert decode_value(event.raw_output) == json.loads(wanted["value"])
    assert len(made.printed.encode()) <= LIMITS.print_bytes
    assert SENTINEL.encode() not in raw
    assert GITHUB.encode() not in raw


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_a_hostile_script_replays_to_the_same_end(path: Path, ground: Ground) -> None:
    made = run(path, ground)
    try:
        script = load(path)
    except ScriptError:
        return

    again = replay_tool(
        a_tool(script, ""), {}, made.host_calls, clock=CLOCK, seed=1, limits=limits(path)
    )

    if made.error_kind == again.error_kind == "limit":
        # which limit is reached first depends on the machine's load
        made, again = without_message(made), without_message(again)
    assert outcome(again) == outcome(made)


def test_a_hostile_script_does_not_affect_the_next(ground: Ground) -> None:
    tool = a_tool(load_source("1 + 1\n", name="good"), "")
    made = run_tool(tool, {}, ToolTree(ground.tree), clock=CLOCK, seed=1)

    assert (made.raw_output, made.error_kind) == (2, None)
