import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import Message, ToolSchema
from remora.errors import ModelError
from remora.models.token_counters import PER_MESSAGE, ServerTokenizer, UpperBound


@given(st.text())
def test_the_bound_is_never_below_one_token_per_byte(text: str) -> None:
    assert UpperBound().count_text(text) >= len(text.encode("utf-8", "surrogatepass"))


def test_a_text_that_grows_when_normalised_is_counted_grown() -> None:
    ligature = "\ufdfa" * 10  # 3 bytes each, 33 after NFKC
    assert UpperBound().count_text(ligature) >= 330


def test_declared_tools_count() -> None:
    messages = (Message(role="user", content="go"),)
    tool = ToolSchema(name="run", description="x" * 500)
    counter = UpperBound()
    assert counter.count_messages(messages, (tool,)) > counter.count_messages(messages) + 500


def test_a_text_is_sent_to_the_server_once() -> None:
    sent: list[str] = []

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        sent.append(path)
        return {"prompt": "p", "tokens": [1, 2, 3]}

    counter = ServerTokenizer("m", post)
    messages = (Message(role="user", content="go"),)
    assert [counter.count_messages(messages) for _ in range(3)] == [3, 3, 3]
    assert sent == ["/apply-template", "/tokenize"]


def test_a_tokenizer_that_answers_nonsense_is_a_model_error() -> None:
    counter = ServerTokenizer("m", lambda path, body: {})
    with pytest.raises(ModelError, match="'tokens'"):
        counter.count_text("go")


def test_rows_of_combining_characters_are_counted_in_linear_time() -> None:
    text = "a" + "\u0315\u0300" * 200_000
    began = time.process_time()
    assert UpperBound().count_text(text) >= len(text.encode())
    assert time.process_time() - began < 4.0


@given(st.text(st.sampled_from("ae\u0300\u0315\ufb03\ufdfa\u1100\u1161\n")))
def test_the_bound_of_short_lines_is_that_of_the_whole_text(text: str) -> None:
    sizes = [len(form.encode()) for form in (text, unicodedata.normalize("NFKC", text))]
    assert UpperBound().count_text(text) == max(sizes) + PER_MESSAGE
