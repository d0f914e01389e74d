"""What `recall` looks into: the outputs as the stream holds them, wherever their text lies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.agents.builtin_tools import MAX_LINES, RawOutputs, raw_text, recall
from remora.errors import HostError
from remora.memory.encode_values import encode_value
from remora.memory.events import Event, ModelResponse, Payload, ToolResulted, TurnStart
from remora.trace.read.blobs import BLOB_LIMIT, LINE_LIMIT
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.stream_writer import open_emitter

OUTPUTS: list[Any] = [
    "first\nsecond",
    "\n".join(f"line {n}" for n in range(20_000)),
    {"log": "x" * 70_000 + "\nend", "$blob": "mine", "left": [1, 2.5, None]},
    {"$blob": {"sha256": "0" * 64}},
    [{"path": f"src/{n}.py", "line": n} for n in range(9_000)],
    ["é" * 100, float("nan"), 2**80, b"\xff", "\ud800"],
    None,
    "",
]


def record(folder: TraceFolder, *payloads: Payload) -> list[Event]:
    path = folder.agent_stream("a")
    with open_emitter(path, Identity("r", "a", "o", "n"), blobs=folder.blobs) as writer:
        made = [writer.emit(p, turn=turn) for turn, p in enumerate(payloads, 1)]
    assert made == list(read_events(path))
    return made


def outputs_of(folder: TraceFolder, *outputs: Any) -> RawOutputs:
    events = record(folder, *(ToolResulted(tool="t", raw_output=output) for output in outputs))
    found = RawOutputs(folder.blobs)
    for event in events:
        found.add_result(event)
    return found


@pytest.fixture
def folder(tmp_path: Any) -> TraceFolder:
    made = TraceFolder(tmp_path)
    made.create()
    return made


@pytest.mark.parametrize("output", OUTPUTS, ids=range(len(OUTPUTS)))
def test_lines_are_those_of_the_output_wherever_it_is_kept(
    output: Any, folder: TraceFolder
) -> None:
    outputs = outputs_of(folder, output)
    lines = [line[:LINE_LIMIT] for line in raw_text(encode_value(output)).split("\n")]
    assert outputs.turns() == (1,)
    for first, last in [(1, 1), (1, len(lines)), (len(lines), len(lines)), (7, 66)]:
        assert outputs.lines(1, first, last) == (lines[first - 1 : last], len(lines))


def test_what_a_model_wrote_comes_before_the_output(folder: TraceFolder) -> None:
    text = "\n".join(["x = 1"] * 9000)
    answer, result = record(
        folder,
        ModelResponse(text="I would edit"),
        ToolResulted(tool="edit", args={"first": 3, "text": text}, raw_output="done\nwell"),
    )
    found = RawOutputs(folder.blobs)
    found.add_answer(answer)
    found.add_result(result)
    assert recall("turn:1", [1, 9], found)["excerpt"]["text"] == "I would edit"
    assert recall("turn:2", [1, 3], found)["excerpt"]["text"] == "first: 3\ntext: x = 1\nx = 1"
    assert found.lines(2, 9001, 9005) == (["x = 1", "output:", "done", "well"], 9004)
    assert found.lines(2, 9004, 9004) == (["well"], 9004)


@given(first=st.integers(-5, 10**9), last=st.integers(-5, 10**9), turn=st.sampled_from([1, 2, 5]))
def test_any_range_shows_something(first: int, last: int, turn: int, held: RawOutputs) -> None:
    shown = recall(f"turn:{turn}", [first, last], held)["excerpt"]
    low, high = shown["lines"]
    assert 1 <= low <= high < low + 60
    assert shown["text"].split("\n") == held.lines(turn, low, high)[0]


@pytest.fixture
def held(folder: TraceFolder) -> RawOutputs:
    return outputs_of(folder, *OUTPUTS)


class TestRanges:
    @pytest.fixture
    def two(self, folder: TraceFolder) -> RawOutputs:
        lines = "\n".join(f"line {n}" for n in range(1, 201))
        events = record(folder, TurnStart(), ToolResulted(tool="t", raw_output=lines),
                        ToolResulted(tool="t", raw_output="only"))  # fmt: skip
        found = RawOutputs(folder.blobs)
        for event in events[1:]:
            found.add_result(event)
        return found

    @pytest.mark.parametrize(
        ("ref", "lines", "span", "text"),
        [
            ("turn:2", [3, 4], [3, 4], "line 3\nline 4"),
            ("turn:2", [199, 900], [199, 200], "line 199\nline 200"),
            ("turn:2", [900, 3], [200, 200], "line 200"),
            ("turn:3", [1, 9], [1, 1], "only"),
            ("2", [1, 1], [1, 1], "line 1"),
            ("turn:3", [], [1, 1], "only"),
        ],
    )
    def test_lines_of_an_earlier_output(
        self, ref: str, lines: list[int], span: list[int], text: str, two: RawOutputs
    ) -> None:
        found = recall(ref, lines, two)
        assert (found["excerpt"]["lines"], found["excerpt"]["text"]) == (span, text)
        assert found["result"]["lines"] == span

    def test_a_range_is_bounded(self, two: RawOutputs) -> None:
        found = recall("turn:2", [1, 200], two)["excerpt"]
        assert found["lines"] == [1, MAX_LINES]
        assert found["text"].count("\n") == MAX_LINES - 1

    @pytest.mark.parametrize("ref", ["turn:9", "", "turn:", "turn:-1", "turn:²"])
    def test_missing_files(self, ref: str, two: RawOutputs) -> None:
        with pytest.raises(HostError, match="there is turn:2, turn:3"):
            recall(ref, [1, 2], two)


def test_a_result_reads_as_indented_json() -> None:
    assert raw_text({"a": ["é"]}) == '{\n "a": [\n  "é"\n ]\n}'
    assert raw_text("as it is") == "as it is"


def test_large_outputs_are_not_held(folder: TraceFolder) -> None:
    text = "".join(f"line {n}\n" for n in range(100_000))
    rows = [{"path": f"src/{n}.py", "line": n} for n in range(20_000)]
    outputs = outputs_of(folder, text, {"log": text}, rows)
    kept = sum(map(len, outputs._recorded.values()))
    assert kept < (len(text) + len(raw_text(rows))) // 10
    assert len(raw_text(rows)) > 10 * BLOB_LIMIT


def test_only_results_have_outputs(folder: TraceFolder) -> None:
    outputs = RawOutputs(folder.blobs)
    _, result = record(folder, TurnStart(), ToolResulted(tool="t", raw_output="x"))
    outputs.add_result(result)
    assert outputs.turns() == (2,)
    with pytest.raises(HostError, match="there is turn:2"):
        recall("turn:1", [1, 2], outputs)


def test_an_output_that_was_cleaned_away_is_the_tools_error(folder: TraceFolder) -> None:
    outputs = outputs_of(folder, "x" * 70_000)
    for path in folder.blobs.folder.rglob("?" * 64):
        path.unlink()
    with pytest.raises(HostError, match="cannot be read"):
        recall("turn:1", [1, 2], outputs)
