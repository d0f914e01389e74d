"""The contract: whatever a script gives becomes one record."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.tools.tool import ToolResult, as_result

FULL = {
    "result": {"n": 1},
    "summary": "done",
    "knowledge_delta": {"n": 1},
    "outcome": "partial",
    "diagnostics": ["a"],
    "candidate_actions": [{"tool": "t", "args": {"x": 1}, "reason": "why"}],
    "state_summary": "state",
    "excerpt": {"ref": "code", "path": "a.py", "lines": [1, 2], "text": "x\ny"},
    "extensions": {"k": 1},
    "error": "half",
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["result", "summary", "outcome", "error", "_summary", "excerpt", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def test_the_whole_contract_is_taken_as_it_stands() -> None:
    made = as_result(FULL)

    assert made.result == {"n": 1}
    assert (made.summary, made.outcome, made.error) == ("done", "partial", "half")
    assert made.excerpt == {"ref": "code", "path": "a.py", "lines": (1, 2), "text": "x\ny"}
    assert made.candidate_actions == FULL["candidate_actions"]


def test_a_summary_beyond_200_characters_is_cut() -> None:
    for value in ({"result": 1, "summary": "x" * 300}, {"_summary": "x" * 300}):
        summary = as_result(value).summary
        assert summary is not None
        assert (len(summary), summary[-1]) == (200, "…")
    assert as_result({"result": 1, "summary": "x" * 200}).summary == "x" * 200


@pytest.mark.parametrize("value", [None, 3, "text", [1], {"a": 1}, {"result": 1}, {"outcome": "x"}])
def test_any_other_value_is_tolerated_without_a_summary(value: Any) -> None:
    assert as_result(value) == ToolResult(result=value)


def test_a_dict_with_an_underscored_summary_keeps_the_rest_as_result() -> None:
    made = as_result({"_summary": "said", "a": 1})

    assert made == ToolResult(result={"a": 1}, summary="said")


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ({"result": 1, "summary": "s"}, "success"),
        ({"result": 1, "summary": "s", "error": "e"}, "error"),
        ({"result": 1, "summary": "s", "error": ""}, "success"),
        ({"result": 1, "summary": "s", "error": "e", "outcome": "success"}, "success"),
        ({"error": "e"}, "error"),
        ({"error": None, "a": 1}, "success"),
    ],
)
def test_an_outcome_that_is_not_given_follows_from_the_error(value: Any, outcome: str) -> None:
    assert as_result(value).outcome == outcome


@pytest.mark.parametrize(
    "wrong",
    [
        {"summary": 3},
        {"outcome": "fine"},
        {"knowledge_delta": []},
        {"diagnostics": "x"},
        {"candidate_actions": [{"tool": "t"}]},
        {"candidate_actions": {}},
        {"excerpt": {"ref": "code"}},
        {"excerpt": {"ref": "c", "path": "p", "lines": [1], "text": ""}},
        {"extensions": 1},
        {"error": 5},
        {"sumary": "a key that is none"},
    ],
)
def test_a_wrongly_typed_key_breaks_the_contract(wrong: dict[str, Any]) -> None:
    made = as_result({"result": 1, "summary": "s", "outcome": "success", **wrong})

    assert made.outcome == "error"
    assert made.error is not None
    assert next(iter(wrong)) in made.error
    assert "\n" not in made.error


def test_a_key_that_is_not_text_breaks_the_contract() -> None:
    made = as_result({"result": 1, "summary": "s", ("a\nb",): 1})

    assert made.error is not None
    assert "no key '('a\\nb',)'; there is result, summary" in made.error


def test_null_is_as_good_as_absent() -> None:
    assert as_result(
        {"result": None, "summary": "s", "excerpt": None, "knowledge_delta": None}
    ) == (ToolResult(summary="s"))


@given(json_values)
def test_contract_never_raises_and_summaries_stay_short(value: Any) -> None:
    made = as_result(value)

    assert made.outcome in ("success", "error", "partial")
    assert len(made.summary or "") <= 200


def test_a_misspelled_key_of_the_contract_is_named() -> None:
    made = as_result({"result": 1, "sumary": "Fixed 3 errors"})
    assert made.outcome == "error"
    assert "no key 'sumary' (did you mean 'summary'?); there is" in str(made.error)
    assert as_result({"result": 1, "errors": 3, "outcomes": 2}).outcome == "success"
    wrong = as_result({"result": 1, "summary": "s", "diagnostic": []})
    assert "no key 'diagnostic' (did you mean 'diagnostics'?)" in str(wrong.error)
