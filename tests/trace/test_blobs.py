"""Long strings go to the store and come back; nothing else is touched."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import NotFound, StreamDamaged
from remora.memory.events import ToolResulted, payload
from remora.trace import TraceFolder
from remora.trace.blobs import BLOB_LIMIT, externalise, references, resolve, whole_payload
from tests.trace.conftest import Recorder

KEYS = st.sampled_from(["$blob", "$$blob", "$$$blob", "sha256", "a"])
LEAVES = st.none() | st.integers() | st.text(max_size=5) | st.just("x" * (BLOB_LIMIT + 1))
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=2)
)


@given(data=JSON)
def test_resolving_undoes_it_for_any_data_even_such_that_looks_like_a_reference(
    data: Any, folder: TraceFolder
) -> None:
    assert resolve(externalise(data, folder.blobs), folder.blobs) == data


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("x" * 65_536, False),
        ("x" * 65_537, True),
        ("é" * 32_768, False),
        ("é" * 32_769, True),
        ("𝄞" * 16_384, False),
        ("𝄞" * 16_385, True),
    ],
)
def test_over_64_kib_of_utf8_is_long(text: str, moved: bool, folder: TraceFolder) -> None:
    assert (externalise(text, folder.blobs) != text) is moved


def test_a_reference_tells_hash_length_and_both_ends(folder: TraceFolder) -> None:
    lines = [f"line {n} " + "ü" * 500 for n in range(200)]
    text = "\n".join(lines) + "\n"
    encoded = text.encode()
    assert externalise({"log": [text]}, folder.blobs) == {
        "log": [
            {
                "$blob": {
                    "sha256": sha256(encoded).hexdigest(),
                    "bytes": len(encoded),
                    "first": [line[:200] for line in lines[:10]],
                    "last": [line[:200] for line in lines[-10:]],
                }
            }
        ]
    }


def test_references_are_found_at_any_depth(folder: TraceFolder) -> None:
    data = externalise({"a": ["x" * 70_000, {"$blob": "mine"}], "b": "y" * 70_000}, folder.blobs)
    assert [len(found["first"][0]) for found in references(data)] == [200, 200]


@pytest.mark.parametrize(
    ("value", "error"),
    [("no", StreamDamaged), ({"sha256": "../x"}, StreamDamaged), ({"sha256": "0" * 64}, NotFound)],
)
def test_a_reference_to_nothing_is_an_error(
    value: Any, error: type[Exception], folder: TraceFolder
) -> None:
    with pytest.raises(error):
        resolve({"$blob": value}, folder.blobs)


def test_a_typed_payload_has_its_long_strings_back(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    written = ToolResulted(tool="t", raw_output={"out": "o" * 70_000}, error="e" * 70_000)
    event = agent.emit(written)
    assert whole_payload(event, folder.blobs) == written
    assert len(bytes(event.data)) < 10_000
    with pytest.raises(ValueError, match="error"):
        payload(event)
