"""A document of recorded lines is one JSON document, whatever stands in them."""

import json
from collections.abc import Iterator

import pytest
from click.exceptions import Exit
from hypothesis import given
from hypothesis import strategies as st

from remora.cli.trace.event_lines import event_json, print_items
from remora.errors import StreamDamaged

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@pytest.mark.slow
@given(JSON)
def test_an_event_stays_the_json_that_it_is_in_ascii(value: object) -> None:
    try:
        line = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # lone surrogates do not come into a stream
        return
    text = event_json(line)
    assert text.isascii()
    assert json.loads(text) == value


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_item_has_its_line(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_items('a"b', "events", (event_json(b"%d" % number) for number in range(count)))
    out = capsys.readouterr().out
    assert json.loads(out) == {"agent_id": 'a"b', "events": list(range(count))}
    assert out.count("\n") == count + 2


def interrupted() -> Iterator[str]:
    yield event_json(b"1")
    raise KeyboardInterrupt


def test_a_document_that_is_broken_off_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        print_items("a", "events", interrupted())
    assert json.loads(capsys.readouterr().out)["events"] == [1]


def broken_off(*items: bytes) -> Iterator[str]:
    yield from map(event_json, items)
    raise StreamDamaged("a: a line is not an event", hint="look")


def test_what_fails_before_the_first_item_is_not_a_document(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(StreamDamaged):
        print_items("a", "events", broken_off())
    assert capsys.readouterr().out == ""


def test_what_fails_later_is_reported_in_the_one_document(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Exit) as ended:
        print_items("a", "events", broken_off(b"1", b"2"))
    assert ended.value.exit_code == StreamDamaged.exit_code
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "agent_id": "a",
        "events": [1, 2],
        "error": {"code": "stream_damaged", "message": "a: a line is not an event", "hint": "look"},
    }
    assert "error: a: a line is not an event" in captured.err
