"""What results come to in a sentence, and which facts of them are kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.summarizers import (
    ENTRY_LIMIT,
    MAX_ENTRIES,
    MAX_FACTS,
    DefaultSummarizer,
    LinterSummarizer,
    Summarizer,
    ToolSidePassthrough,
)


def test_a_summarizer_says_both_things() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Summarizer()  # type: ignore[abstract]


class TestToolSidePassthrough:
    @pytest.mark.parametrize(
        ("result", "summary", "facts"),
        [
            ({"summary": "Fixed 3", "knowledge_delta": {"k": 1}}, "Fixed 3", {"k": 1}),
            ({"_summary": "Fixed 3"}, "Fixed 3", {}),
            ({"summary": ""}, "Tool completed", {}),
            ({"summary": 3, "knowledge_delta": [1]}, "Tool completed", {}),
            ("text", "Tool completed", {}),
        ],
    )
    def test_the_tools_own_words(self, result: Any, summary: str, facts: Any) -> None:
        assert ToolSidePassthrough().summarize(result) == summary
        assert ToolSidePassthrough().extract_knowledge(result) == facts


class TestLinterSummarizer:
    @pytest.mark.parametrize(
        ("result", "summary", "counts"),
        [
            ({"errors": [1, 2], "fixed": 3}, "Fixed 3 lint errors, 2 remaining", (2, 3)),
            ({"errors": [1, 2]}, "Found 2 lint errors", (2, 0)),
            ({"errors": "many", "fixed": True}, "Found 0 lint errors", (0, 0)),
            (None, "Found 0 lint errors", (0, 0)),
        ],
    )
    def test_counts(self, result: Any, summary: str, counts: tuple[int, int]) -> None:
        assert LinterSummarizer().summarize(result) == summary
        facts = LinterSummarizer().extract_knowledge(result)
        assert facts == {"lint_errors_remaining": counts[0], "lint_errors_fixed": counts[1]}


class TestDefaultSummarizer:
    tool = DefaultSummarizer("look")

    @pytest.mark.parametrize(
        ("result", "summary"),
        [
            ("text", "Executed look"),
            ({"a": 1}, "Executed look"),
            ([1, 2], "Executed look: 2 items"),
            (None, "Executed look"),
        ],
    )
    def test_it_says_what_was_executed(self, result: Any, summary: str) -> None:
        assert self.tool.summarize(result) == summary

    @pytest.mark.parametrize("result", ["text", 3, None, 1.5, b"x", object()])
    def test_unstructured_output_has_no_facts(self, result: Any) -> None:
        assert self.tool.extract_knowledge(result) == {}

    @pytest.mark.parametrize(
        ("result", "grouped"),
        [
            (
                {"findings": [{"code": "F401", "line": 3}, {"code": "E741", "line": 9}]},
                "findings.code=F401,E741;findings.line=3,9",
            ),
            ({"a": [{"x": 1}, {"x": 1}, {"x": 2}]}, "a.x=1,2"),
            (["b", "a", "b"], "value=b,a"),
            ({"a": {"b": {"c": True}}, "d": None, "e": 1.5}, "a.b.c=true;e=1.5"),
            ({"text": "two\n  lines"}, "text=two lines"),
            ({"text": "x" * 120, "long": "x" * 121}, "text=" + "x" * 120),
        ],
    )
    def test_facts_are_grouped_by_path_without_indices_and_repeats(
        self, result: Any, grouped: str
    ) -> None:
        assert self.tool.extract_knowledge(result) == {"look": grouped}

    def test_a_long_group_continues_in_the_next_entry_under_its_path(self) -> None:
        names = [f"name_{n:03}" for n in range(100)]
        facts = self.tool.extract_knowledge({"path=odd": names})
        assert list(facts) == ["look", "look.2"]
        said = [entry.removeprefix("path=odd=").split(",") for entry in facts.values()]
        assert said[0] + said[1] == names
        assert all(len(entry) <= ENTRY_LIMIT for entry in facts.values())

    def test_a_group_stays_together_where_it_fits_an_entry(self) -> None:
        facts = self.tool.extract_knowledge({"a": ["x" * 100, "y" * 100], "b": ["z" * 110] * 3})
        assert facts == {"look": f"a={'x' * 100},{'y' * 100};b={'z' * 110}"}

    def test_knowledge_of_one_result_is_bounded(self) -> None:
        facts = self.tool.extract_knowledge({f"k{n}": "v" * 100 for n in range(10_000)})
        assert list(facts) == ["look", *(f"look.{n}" for n in range(2, MAX_ENTRIES + 1))]
        assert all(len(entry) <= ENTRY_LIMIT for entry in facts.values())

    def test_only_the_first_facts_are_looked_at(self) -> None:
        facts = self.tool.extract_knowledge(["" for _ in range(MAX_FACTS)] + ["late"])
        assert facts == {"look": "value="}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda v: st.lists(v) | st.dictionaries(st.text() | st.integers(), v),
    max_leaves=20,
)
shaped = st.dictionaries(
    st.sampled_from(["errors", "fixed", "summary", "_summary", "knowledge_delta"]), anything
)


@given(anything | shaped)
def test_summarizers_take_whatever_a_tool_returned(result: Any) -> None:
    default = DefaultSummarizer("look")
    for summarizer in (ToolSidePassthrough(), LinterSummarizer(), default):
        assert isinstance(summarizer.summarize(result), str)
        assert isinstance(summarizer.extract_knowledge(result), dict)
    entries = default.extract_knowledge(result)
    assert entries == default.extract_knowledge(result)
    assert all(len(entry) <= ENTRY_LIMIT for entry in entries.values())
