"""Lines of raw outputs that report an error: large texts, texts in blobs, and deep data."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.runs.diagnosis.output_texts import reported_errors
from remora.trace.blobs import NullBlobSink, externalise
from remora.trace.content.objects import ObjectStore

MIB = 1024 * 1024


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path, packs=True)


def test_errors_are_lines_that_report_one_and_all_lines_under_such_a_key() -> None:
    output = {"log": "fine\na.py:3: error: boom\nerror: boom\n", "stderr": "no such file\n"}
    assert reported_errors(raw([output, output])) == (
        "a.py:3: error: boom",
        "error: boom",
        "no such file",
    )


def test_the_first_mib_of_a_longer_text_is_searched(store: ObjectStore) -> None:
    for text in ("error: boom\n" + "x" * (MIB + MIB // 10), "x\n" * MIB + "error: boom"):
        kept = raw(externalise({"log": text}, store))
        found = ("error: boom",) if text.startswith("error") else ()
        assert reported_errors(raw({"log": text})) == found
        assert reported_errors(kept, store.pieces) == found


def test_no_more_of_a_stored_text_is_read_than_is_searched() -> None:
    read = 0

    def endless(_digest: str) -> Iterator[bytes]:
        nonlocal read
        while True:
            read += MIB // 4
            yield b"x" * (MIB // 4)

    reference = {"$blob": {"sha256": sha256().hexdigest(), "bytes": 10, "first": [], "last": []}}
    assert reported_errors(raw([reference] * 100), endless) == ()
    assert read == MIB


def test_of_a_text_that_is_lost_the_recorded_lines_are_searched(store: ObjectStore) -> None:
    kept = raw(externalise("error: boom\n" * 10_000, NullBlobSink()))
    assert reported_errors(kept) == ("error: boom",)
    assert reported_errors(kept, store.pieces) == ("error: boom",)


def test_an_output_that_is_too_large_is_not_searched() -> None:
    assert reported_errors(raw(["error: boom", ["x" * 60_000] * 80])) == ()


@pytest.mark.parametrize("depth", [900, 3_000, 100_000])
def test_deep_data_has_no_errors(depth: int) -> None:
    assert reported_errors(msgspec.Raw(b"[" * depth + b"]" * depth)) == ()
