"""Lines of raw outputs that report an error: large texts, texts in blobs, and deep data."""

import json
from typing import Any

import msgspec
import pytest

from remora.runs.diagnosis.output_texts import reported_errors
from remora.trace.blobs import NullBlobSink, externalise


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
