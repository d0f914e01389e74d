"""Reports count each decision once, by what made it."""

from remora.runs.records.decision_sources import SOURCES, decision_sources, sources_text, total_of


def test_a_stream_with_decisions_of_all_kinds() -> None:
    found = decision_sources({"rule": 2, "model": 1, "fallback": 1, "escalation": 1}, "openai")
    assert found == {"rule": 2, "embedded": 0, "server": 1, "escalation": 1, "fallback": 1}
    assert sources_text(found) == (
        "5 decisions: 2 by rules, 1 by the model server, 1 by the larger model, 1 by fallback, "
        "because a model failed"
    )


def test_other_decisions_are_counted_by_what_made_them() -> None:
    assert decision_sources({"model": 1}, "embedded")["embedded"] == 1
    assert decision_sources({"own": 1}, "none")["own"] == 1
    total = total_of([{"rule": 2}, {"rule": 1, "server": 1}])
    assert total == {**dict.fromkeys(SOURCES, 0), "rule": 3, "server": 1}
