"""A recorded run runs again without the machine, and says where it does not."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.errors import ReplayMismatch
from remora.pym import HostCall, Limits, load_source
from remora.tools.tool import Tool, ToolRun, replay_tool, run_tool
from remora.tools.tree import ToolTree

CLOCK = datetime(2025, 3, 4, tzinfo=UTC)
WORDS = "from remora.pym import Input, external\n"
EDIT = (
    WORDS
    + """import random
from datetime import datetime

path: str = Input("path")


@external
async def read_text(path: str) -> str: ...


@external
def edit_text(path: str, line: int, expect: str, replace: str) -> dict: ...


text = await read_text(path)
try:
    await read_text("absent")
except RuntimeError as error:
    why = str(error)
edit_text(path, 1, text.strip(), "changed")
{
    "result": [text, why, random.random(), datetime.now().isoformat()],
    "summary": f"Edited {path}",
    "outcome": "partial",
}
"""
)


def tool(source: str) -> Tool:
    grants = ("read_text", "edit_text", "list_files")
    granted = tuple(BUILT_IN.host_functions[name] for name in grants)
    return Tool(name="t", description="", script=load_source(source, name="t"), grants=granted)


def again(made: Tool, run: ToolRun, args: dict[str, Any], limits: Limits) -> ToolRun:
    calls = list(run.host_calls)
    return replay_tool(made, args, calls, clock=run.clock, seed=run.seed, limits=limits)


def outcome(run: ToolRun) -> tuple[Any, ...]:
    calls = [msgspec.structs.replace(call, duration_ms=0) for call in run.host_calls]
    return run.result, run.raw_output, run.printed, calls, run.error_kind, run.clock, run.seed


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (EDIT, None),
        (EDIT + "1 / 0\n", "runtime"),
        (EDIT + "while True: pass\n", "limit"),
        (EDIT + "while True: edit_text(path, 1, 'changed', 'changed')\n", "limit"),
        (EDIT + "...\n", "contract"),
        (EDIT + "@external\ndef secret() -> int: ...\nsecret()\n", "denied"),
    ],
)
def test_the_same_result_and_the_same_calls(tmp_path: Path, source: str, kind: str | None) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    limits = Limits(duration_s=0.2, host_calls=9)
    made = tool(source)
    run = run_tool(made, {"path": "a.txt"}, ToolTree(tmp_path), clock=CLOCK, seed=5, limits=limits)
    (tmp_path / "a.txt").unlink()

    replayed = again(made, run, {"path": "a.txt"}, limits)

    assert run.error_kind == kind
    assert len(run.host_calls) >= 3
    assert outcome(replayed) == outcome(run)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_waited_too_long_for_the_host_replays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    made, limits = tool(EDIT), Limits(wall_s=1e-9)
    run = run_tool(made, {"path": "a.txt"}, ToolTree(tmp_path), clock=CLOCK, seed=5, limits=limits)

    replayed = again(made, run, {"path": "a.txt"}, limits)

    assert run.error_kind == "limit"
    assert [call.error for call in run.host_calls] == ["limit: more than 1e-09 seconds in all"]
    assert outcome(replayed) == outcome(run)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda calls: calls[:-1], "call 3 is edit_text"),
        (lambda calls: [*calls, calls[0]], "3 calls were made, 4 are recorded"),
        (lambda calls: [calls[0], calls[2], calls[1]], "call 2 is read_text"),
        (lambda calls: [HostCall(name="list_files", args=["*"]), *calls], "call 1 is read_text"),
        (
            lambda calls: [msgspec.structs.replace(calls[0], result="other"), *calls[1:]],
            "1, 'other', 'changed'",
        ),
    ],
)
def test_another_recording_is_a_mismatch(tmp_path: Path, change: Any, says: str) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    made = tool(EDIT)
    run = run_tool(made, {"path": "a.txt"}, ToolTree(tmp_path), clock=CLOCK, seed=5)

    with pytest.raises(ReplayMismatch, match=says) as caught:
        replay_tool(made, {"path": "a.txt"}, change(list(run.host_calls)), clock=CLOCK, seed=5)

    assert caught.value.kind == "contract"


def test_what_was_recorded_and_not_called_is_a_mismatch_after_an_error_too(tmp_path: Path) -> None:
    made = tool("1 / 0\n")
    calls = [HostCall(name="read_text", args=["a"])]

    with pytest.raises(ReplayMismatch, match="0 calls were made, 1 are recorded"):
        replay_tool(made, {}, calls, clock=CLOCK, seed=5)
