"""Line splitting, from the front and from the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.events import GENESIS
from remora.trace.content import line_format as module
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import (
    complete_lines,
    hashed_lines,
    iter_lines,
    last_line,
    line_hash,
    line_with_hash,
)


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


@given(content=st.binary(max_size=60) | st.text("a\r\n\x0b\u2028\0", max_size=60).map(str.encode))
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_lines_are_what_newlines_alone_split(
    content: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK", block)
    monkeypatch.setattr(module, "_TAIL_BLOCK", block)
    with opened(tmp_path / "s", content) as file:
        found = list(iter_lines(FileSource(file)))
        last = last_line(FileSource(file))
    *ended, rest = content.split(b"\n")
    assert [line.raw for line in found] == ended + [rest] * bool(rest)
    assert [line.ended for line in found] == [True] * len(ended) + [False] * bool(rest)
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(content[line.offset :].startswith(line.raw) for line in found)
    assert last == (ended[-1] if ended else None)


def test_a_line_that_is_too_long_is_cut_in_memory_and_counted_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 10)
    monkeypatch.setattr(module, "_CHUNK", 7)
    with opened(tmp_path / "s", b"a\n" + b"b" * 25 + b"\nc\n") as file:
        found = list(iter_lines(FileSource(file)))
    assert [(line.raw, line.size) for line in found] == [(b"a", 1), (b"b" * 10, 25), (b"c", 1)]
    assert [line.offset for line in found] == [0, 2, 28]


@given(content=st.text("a\n", max_size=40).map(str.encode), piece=st.integers(1, 9))
def test_lines_from_a_place_on_are_the_last_of_all(
    content: bytes, piece: int, tmp_path: Path
) -> None:
    with opened(tmp_path / "s", content) as file:
        every = list(iter_lines(FileSource(file)))
        for number, line in enumerate(every):
            rest = iter_lines(FileSource(file), line.offset, number, piece=piece)
            assert list(rest) == every[number:]
        assert list(complete_lines(FileSource(file))) == [line for line in every if line.ended]


def test_behind_a_line_that_is_not_right_none_is(tmp_path: Path) -> None:
    digest, stream, hashes = GENESIS, b"", []
    for body in (b'{"a":1', b'{"a":2', b'{"a":3'):
        digest = line_hash(digest, body)
        hashes.append(digest)
        stream += line_with_hash(body, digest)
    with opened(tmp_path / "s", stream) as file:
        assert [found for _, found in hashed_lines(FileSource(file))] == hashes
    with opened(tmp_path / "s", stream.replace(b'"a":2', b'"a":4')) as file:
        assert [found for _, found in hashed_lines(FileSource(file))] == [hashes[0], None, None]
    with opened(tmp_path / "s", stream[:-1]) as file:
        assert [found for _, found in hashed_lines(FileSource(file))] == [*hashes[:2], None]
