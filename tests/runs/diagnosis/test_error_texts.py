"""Errors in raw outputs, and names in error messages."""

import json
import time
from typing import Any

import msgspec
import pytest

from remora.runs.diagnosis.agent_history import reported_errors
from remora.runs.diagnosis.why_line import find_names
from remora.trace.read.blobs import NullBlobSink, externalise


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def test_errors_are_lines_that_report_one_and_all_lines_under_such_a_key() -> None:
    output = {"log": "fine\na.py:3: error: boom\nerror: boom\n", "stderr": "no such file\n"}
    assert reported_errors(raw([output, output])) == (
        "a.py:3: error: boom",
        "error: boom",
        "no such file",
    )


def test_of_a_text_that_is_stored_elsewhere_the_recorded_lines_are_searched() -> None:
    kept = raw(externalise("error: boom\n" * 10_000, NullBlobSink()))
    assert reported_errors(kept) == ("error: boom",)


def test_an_output_that_is_too_large_is_not_searched() -> None:
    assert reported_errors(raw(["error: boom", ["x" * 60_000] * 80])) == ()


@pytest.mark.parametrize("depth", [900, 3_000, 100_000])
def test_deep_data_has_no_errors(depth: int) -> None:
    assert reported_errors(msgspec.Raw(b"[" * depth + b"]" * depth)) == ()


def test_identifiers_paths_codes_and_quoted_texts_are_names() -> None:
    message = (
        "src/price.py: line 5: E501 in 'total of' (as_private, a.b_c, élan_vital, utf8, plain)"
    )
    assert find_names(message) == [
        *("total of", "src/price.py", "line 5", "E501", "as_private", "a.b_c", "élan_vital", "utf8")
    ]


@pytest.mark.parametrize("part", ["a", "a.", "a_", "aA1", "'", "é/"])
def test_a_long_message_takes_no_time(part: str) -> None:
    began = time.process_time()
    find_names(part * 100_000)
    assert time.process_time() - began < 0.5
