"""Lone surrogates, in whatever field of a stream, are escaped in every format."""

from pathlib import Path
from typing import Any

import pytest

import remora
from remora.exports.formats import FORMATS, export_chunks
from remora.exports.run_group import ExportCounts, all_groups
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all

ODD = "x\udcff"
LARGE = ODD * 20_000  # is moved to a blob
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
ENUM = {"type": "object", "properties": {"path": {"enum": ["a", ODD], "description": ODD}}}
NAMED = {"type": "object", "properties": {ODD: {"type": "string"}}}
FIELDS: dict[str, dict[str, Any]] = {
    "goal": {"goal": ODD},
    "instructions": {"instructions": ODD},
    "model": {"model": ODD},
    "target": {"target": ODD},
    "tool": {"tool": ODD},
    "description": {"description": ODD},
    "parameters": {"parameters": ENUM},
    "argument": {"args": {"path": ODD}},
    "name of an argument": {"args": {ODD: ODD}, "parameters": NAMED},
    "answer": {"text": ODD, "raw": {ODD: ODD}},
    "output": {"output": {ODD: [ODD]}},
    "error": {"error": ODD},
    "large": {"goal": LARGE, "text": LARGE, "raw": LARGE, "output": {ODD: [LARGE], "x": LARGE}},
    "large argument": {"args": {"path": LARGE}, "error": LARGE, "raw": {ODD: LARGE}},
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_lone_surrogate_is_escaped(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    said = {"goal": "g", "tool": "t", "description": "d", "parameters": SCHEMA} | FIELDS[field]
    tool = {"name": said["tool"], **{key: said[key] for key in ("description", "parameters")}}
    options = {key: said[key] for key in ("instructions", "model", "target") if key in said}
    with remora.record(said["goal"], tools=[tool], root=tmp_path, **options) as recording:
        recording.model_request()
        call = ("1", said["tool"], said.get("args", {"path": "a"}))
        recording.model_response(said.get("text"), [call], said.get("raw"))
        recording.tool_result(
            "1", said.get("output"), error=said.get("error"), view=said.get("view")
        )
    folder = TraceFolder(tmp_path)
    assert not [problem for stream in verify_all(folder).streams for problem in stream.problems]
    for form in FORMATS:
        counts = ExportCounts()
        text = b"".join(
            export_chunks(folder, lambda: all_groups(folder), form, counts, content=True)
        ).decode()
        assert text
        assert (counts.left_out, counts.damaged) == ({}, [])
        assert "$text" not in text or form == "jsonl"
        assert "�" not in text
