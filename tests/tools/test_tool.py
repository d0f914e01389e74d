"""A tool on a tree: its contract, and a recorded run that runs again."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.bootstrap.operations import BUILT_IN
from remora.errors import ReplayMismatch
from remora.pym import HostCall, Limits, load_source
from remora.pym.run_outcome import one_line
from remora.tools.tool import Tool, ToolResult, ToolRun, as_result, replay_tool, run_tool
from remora.tools.tree import ToolTree
from remora.trace.redact.redactor import Redactor

CLOCK = datetime(2025, 1, 1, tzinfo=UTC)
WORDS = "from remora.pym import Input, external\n"
READ = WORDS + (
    '"""Not the docstring."""\npath: str = Input("path")\n'
    "@external\ndef read_text(path: str) -> str: ...\n"
)


def tool(source: str, *grants: str) -> Tool:
    granted = tuple(BUILT_IN.host_functions[name] for name in grants)
    return Tool(name="t", description="", script=load_source(source, name="t"), grants=granted)


def run(made: Tool, tree: Path, args: dict[str, Any], **options: Any) -> ToolRun:
    return run_tool(made, args, ToolTree(tree), clock=CLOCK, seed=0, **options)


def test_a_granted_function_works_on_the_tree(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    made = run(
        tool(READ + '{"result": read_text(path), "summary": "Read it"}\n', "read_text"),
        tmp_path,
        {"path": "a.txt"},
    )

    assert (made.result.result, made.result.summary, made.error_kind) == ("hello", "Read it", None)
    assert made.raw_output == {"result": "hello", "summary": "Read it"}
    assert made.isolation == "none"
    assert [call.name for call in made.host_calls] == ["read_text"]


def test_a_function_that_was_not_granted_is_denied(tmp_path: Path) -> None:
    made = run(tool(READ + "read_text(path)\n"), tmp_path, {"path": "a.txt"})

    assert (made.result.outcome, made.error_kind) == ("error", "denied")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("1 / 0\n", "runtime"),
        ("while True: pass\n", "limit"),
        ("...\n", "contract"),
        ("{'error': 10**5000}\n", None),
        ("x = []\nfor _ in range(5000):\n    x = [x]\n{'error': x}\n", None),
        ("{'result': 1, 'summary': 2}\n", "contract"),
    ],
)
def test_whatever_breaks_is_an_error_on_one_line(
    tmp_path: Path, source: str, kind: str | None
) -> None:
    made = run(tool(source), tmp_path, {}, limits=Limits(duration_s=0.2))

    assert (made.result.outcome, made.error_kind) == ("error", kind)
    assert made.result.error
    assert "\n" not in made.result.error


def test_what_is_cut_does_not_end_with_the_start_of_a_secret() -> None:
    secret = "gh" + "p_" + "aB3dE6gH9" * 4
    for before in range(130, 300, 6):
        text = "x " * (before // 2) + secret + " y" * 99
        for shown in (one_line(text), as_result({"error": text}).error or ""):
            assert secret[:9] not in Redactor(b"k" * 32).text(shown)


def test_arguments_are_checked_before_the_run(tmp_path: Path) -> None:
    made = run(tool(READ + "read_text(path)\n", "read_text"), tmp_path, {"path": 3})

    assert (made.result.outcome, made.error_kind, made.host_calls) == ("error", "contract", ())
    assert made.result.error == "t.pym: path: 3 is not of type 'string'"


def test_a_failing_host_function_raises_in_the_script(tmp_path: Path) -> None:
    source = READ + "try:\n    x = read_text(path)\nexcept RuntimeError as e:\n    x = str(e)\nx\n"

    made = run(tool(source, "read_text"), tmp_path, {"path": "../etc/passwd"})

    assert "`..`" in made.result.result


def test_a_tools_schema_is_shown_to_the_model(tmp_path: Path) -> None:
    schema = tool('"""Adds.\n\nMore."""\n' + WORDS + 'n: int = Input("n")\nn\n').schema

    assert (schema.name, schema.description) == ("t", "Adds.")
    assert schema.parameters["required"] == ["n"]


def test_the_document_is_the_contract_with_calls_and_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    document = run(tool(READ + "read_text(path)\n", "read_text"), tmp_path, {"path": "a.txt"})

    assert document.document()["host_calls"][0]["result"] == "x"
    assert document.document()["error_kind"] is None
    assert document.document()["outcome"] == "success"


def test_subprocess_isolation_is_on_record(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    source = WORDS + "@external\ndef ruff_check(paths: list) -> list: ...\nruff_check(['a.py'])\n"

    made = run(tool(source, "ruff_check"), tmp_path, {})

    assert made.result.result == []
    assert made.isolation.startswith("L")


@pytest.mark.parametrize(
    "function", BUILT_IN.host_functions.values(), ids=list(BUILT_IN.host_functions)
)
def test_every_host_function_says_what_it_does(function: Callable[..., Any]) -> None:
    assert function.__doc__


FULL = {
    "result": {"n": 1},
    "summary": "done",
    "knowledge_delta": {"n": 1},
    "outcome": "partial",
    "diagnostics": ["a"],
    "candidate_actions": [{"tool": "t", "args": {"x": 1}, "reason": "why"}],
    "state_summary": "state",
    "excerpt": {"ref": "code", "path": "a.py", "lines": [1, 2], "text": "x\ny"},
    "extensions": {"k": 1},
    "error": "half",
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["result", "summary", "outcome", "error", "_summary", "excerpt", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def test_the_whole_contract_is_taken_as_it_stands() -> None:
    made = as_result(FULL)

    assert made.result == {"n": 1}
    assert (made.summary, made.outcome, made.error) == ("done", "partial", "half")
    assert made.excerpt == {"ref": "code", "path": "a.py", "lines": (1, 2), "text": "x\ny"}
    assert made.candidate_actions == FULL["candidate_actions"]


def test_a_summary_beyond_200_characters_is_cut() -> None:
    for value in ({"result": 1, "summary": "x" * 300}, {"_summary": "x" * 300}):
        summary = as_result(value).summary
        assert summary is not None
        assert (len(summary), summary[-1]) == (200, "…")
    assert as_result({"result": 1, "summary": "x" * 200}).summary == "x" * 200


@pytest.mark.parametrize("value", [None, 3, "text", [1], {"a": 1}, {"result": 1}, {"outcome": "x"}])
def test_any_other_value_is_tolerated_without_a_summary(value: Any) -> None:
    assert as_result(value) == ToolResult(result=value)


def test_a_dict_with_an_underscored_summary_keeps_the_rest_as_result() -> None:
    made = as_result({"_summary": "said", "a": 1})

    assert made == ToolResult(result={"a": 1}, summary="said")


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"result": 1, "summary": "s"}, "success"),
        ({"result": 1, "summary": "s", "error": "e"}, "error"),
        ({"result": 1, "summary": "s", "error": ""}, "success"),
        ({"result": 1, "summary": "s", "error": "e", "outcome": "success"}, "success"),
        ({"error": "e"}, "error"),
        ({"error": None, "a": 1}, "success"),
    ],
)
def test_an_outcome_that_is_not_given_follows_from_the_error(value: Any, outcome: str) -> None:
    assert as_result(value).outcome == outcome


@pytest.mark.parametrize(
    "wrong",
    [
        {"summary": 3},
        {"outcome": "fine"},
        {"knowledge_delta": []},
        {"diagnostics": "x"},
        {"candidate_actions": [{"tool": "t"}]},
        {"candidate_actions": {}},
        {"excerpt": {"ref": "code"}},
        {"excerpt": {"ref": "c", "path": "p", "lines": [1], "text": ""}},
        {"extensions": 1},
        {"error": 5},
        {"sumary": "a key that is none"},
    ],
)
def test_a_wrongly_typed_key_breaks_the_contract(wrong: dict[str, Any]) -> None:
    made = as_result({"result": 1, "summary": "s", "outcome": "success", **wrong})

    assert made.outcome == "error"
    assert made.error is not None
    assert next(iter(wrong)) in made.error
    assert "\n" not in made.error


def test_a_key_that_is_not_text_breaks_the_contract() -> None:
    made = as_result({"result": 1, "summary": "s", ("a\nb",): 1})

    assert made.error is not None
    assert "no key '('a\\nb',)'; there is result, summary" in made.error


def test_null_is_as_good_as_absent() -> None:
    assert as_result(
        {"result": None, "summary": "s", "excerpt": None, "knowledge_delta": None}
    ) == (ToolResult(summary="s"))


@given(json_values)
def test_contract_never_raises_and_summaries_stay_short(value: Any) -> None:
    made = as_result(value)

    assert made.outcome in ("success", "error", "partial")
    assert len(made.summary or "") <= 200


def test_a_misspelled_key_of_the_contract_is_named() -> None:
    made = as_result({"result": 1, "sumary": "Fixed 3 errors"})
    assert made.outcome == "error"
    assert "no key 'sumary' (did you mean 'summary'?); there is" in str(made.error)
    assert as_result({"result": 1, "errors": 3, "outcomes": 2}).outcome == "success"
    wrong = as_result({"result": 1, "summary": "s", "diagnostic": []})
    assert "no key 'diagnostic' (did you mean 'diagnostics'?)" in str(wrong.error)


RECORDED_AT = datetime(2025, 3, 4, tzinfo=UTC)
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


def editing_tool(source: str) -> Tool:
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
    made = editing_tool(source)
    run = run_tool(
        made, {"path": "a.txt"}, ToolTree(tmp_path), clock=RECORDED_AT, seed=5, limits=limits
    )
    (tmp_path / "a.txt").unlink()

    replayed = again(made, run, {"path": "a.txt"}, limits)

    assert run.error_kind == kind
    assert len(run.host_calls) >= 3
    assert outcome(replayed) == outcome(run)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_waited_too_long_for_the_host_replays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    made, limits = editing_tool(EDIT), Limits(wall_s=1e-9)
    run = run_tool(
        made, {"path": "a.txt"}, ToolTree(tmp_path), clock=RECORDED_AT, seed=5, limits=limits
    )

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
    made = editing_tool(EDIT)
    run = run_tool(made, {"path": "a.txt"}, ToolTree(tmp_path), clock=RECORDED_AT, seed=5)

    with pytest.raises(ReplayMismatch, match=says) as caught:
        replay_tool(
            made, {"path": "a.txt"}, change(list(run.host_calls)), clock=RECORDED_AT, seed=5
        )

    assert caught.value.kind == "contract"


def test_what_was_recorded_and_not_called_is_a_mismatch_after_an_error_too(tmp_path: Path) -> None:
    made = editing_tool("1 / 0\n")
    calls = [HostCall(name="read_text", args=["a"])]

    with pytest.raises(ReplayMismatch, match="0 calls were made, 1 are recorded"):
        replay_tool(made, {}, calls, clock=RECORDED_AT, seed=5)
