"""Text search in lines, and parsing of times."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import UsageError
from remora.trace.content.objects import ObjectStore
from remora.trace.search import turn_filter
from remora.trace.search.turn_filter import TextSearch, parse_time
from remora.trace.search.turn_rows import TurnMatch, TurnRow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROW = TurnRow(
    TurnMatch(
        turn=1, call=1, tool="", outcome="", decided_by="", prompt_tokens=None, ms=None,
        began="", ended="",
    ), begin=0, end=None, seq=None,
)  # fmt: skip
TEXT = st.text(st.sampled_from('aAbBäÄ€🐟"\\\n\t x'), max_size=60)


class Bytes:
    """A stream in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def size(self) -> int:
        return len(self.data)

    def pread(self, count: int, offset: int) -> bytes:
        return self.data[offset : offset + count]


def found(line: bytes, text: str) -> bool:
    search = TextSearch(text, ObjectStore(Path("/nowhere")))
    return list(search.within(Bytes(line + b"\n"), [ROW])) == [ROW]


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_filter, "_WINDOW", 16)


@given(TEXT, st.text(st.sampled_from('aAbBäÄ€🐟"\\\n\t x'), min_size=1, max_size=4))
def test_a_text_is_found_where_it_is(said: str, text: str) -> None:
    line = msgspec.json.encode({"data": said})
    escaped = msgspec.json.encode(text.lower())[1:-1].decode()
    assert found(line, text) is (text.lower() in said.lower() or escaped in '{"data":"')


@given(TEXT, st.integers(0, 60), st.integers(1, 20))
def test_every_part_is_found(said: str, start: int, size: int) -> None:
    line = msgspec.json.encode([said])
    assert found(line, said[start : start + size].swapcase())


def test_what_is_not_text_at_all_has_no_words() -> None:
    assert not found(b"\xff\xfe\x00", "a")
    assert found(b"\xff a \xfe", "A")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000000Z"),
        ("2026-01-31T09:30:00.25+01:00", "2026-01-31T08:30:00.250000Z"),
        ("2026-01-31 09:30", "2026-01-31T09:30:00.000000Z"),
        ("2026-01-31", "2026-01-31T00:00:00.000000Z"),
        ("90s", "2026-03-01T11:58:30.000000Z"),
        ("15m", "2026-03-01T11:45:00.000000Z"),
        ("2h", "2026-03-01T10:00:00.000000Z"),
        ("3d", "2026-02-26T12:00:00.000000Z"),
        ("1w", "2026-02-22T12:00:00.000000Z"),
    ],
)
def test_times(text: str, when: str) -> None:
    assert parse_time(text, NOW) == when
    assert parse_time(text, NOW.astimezone(timezone(timedelta(hours=5)))) == when


@pytest.mark.parametrize("text", ["", " ", "soon", "2026-02-30", "25:00", "3y", "-1h", "999999w"])
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_time(text, NOW)
    assert repr(text) in error.value.message
