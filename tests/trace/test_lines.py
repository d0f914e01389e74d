"""How a file is split, from the front and from the end."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.trace import lines as module
from remora.trace.lines import last_line, lines
from remora.trace.source import FileSource


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
        found = list(lines(FileSource(file)))
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
        found = list(lines(FileSource(file)))
    assert [(line.raw, line.size) for line in found] == [(b"a", 1), (b"b" * 10, 25), (b"c", 1)]
    assert [line.offset for line in found] == [0, 2, 28]
