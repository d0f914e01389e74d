"""What is said of findings: which went, which stayed, and in which words."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from remora.memory.delta import PacketDelta
from remora.memory.events import Event
from remora.runs.records.findings import (
    done_text,
    fixed,
    fixed_and_left,
    fixes_text,
    known_findings,
    listed_findings,
)

CODES = st.dictionaries(st.sampled_from("ABCDE"), st.integers(1, 5))


def job(
    status: str, before: dict[str, int], after: dict[str, int], review: str = "pending"
) -> dict[str, Any]:
    return {"status": status, "review": review, "findings": {"before": before, "after": after}}


@given(CODES, CODES)
def test_only_earlier_findings_count_as_fixed(
    before: dict[str, int], after: dict[str, int]
) -> None:
    gone = fixed(before, after)
    assert all(gone[code] == before[code] - after.get(code, 0) for code in gone)
    assert all(after.get(code, 0) >= before[code] for code in before if code not in gone)


def test_unverified_changes_fix_nothing() -> None:
    assert fixed_and_left(job("verified", {"A": 2, "B": 1}, {"B": 1})) == ({"A": 2}, {"B": 1})
    assert fixed_and_left(job("failed", {"A": 2}, {})) == ({}, {"A": 2})
    assert fixed_and_left({"status": "verified", "findings": None}) is None


def test_each_kind_of_work_is_reported_in_its_own_words() -> None:
    gone = {"F401": 2, "missing docstring": 1, "outdated docstring": 1, "missing test": 1}
    told = {
        "accepted": "fixed F401 x2, docstring added, docstring updated, added tests for 1 function",
        "pending": "fixes F401 x2, adds a docstring, updates a docstring, adds tests for 1 function",
        "rejected": "would fix F401 x2, would add a docstring, would update a docstring, "
        "would add tests for 1 function",
    }
    assert {review: fixes_text(gone, review) for review in told} == told
    assert fixes_text({}) == ""
    assert done_text({"weak test": 3}, {"weak test": 2}) == (
        "adds further tests for 3 functions; left 2 functions to test further"
    )


def test_all_findings_of_a_result_are_read_with_their_places() -> None:
    listed = [{"code": "E741", "line": n, "message": "m", "fix_kind": "none"} for n in range(12)]
    for kind, key in (("tool_result", "parsed_output"), ("context_update", "value")):
        data = {key: {"findings": listed}, "source": "context" if key == "value" else ""}
        event = Event(
            v=1, seq=0, timestamp="", run_id="r", agent_id="a", operation="o", node_id="n",
            turn=1, type=kind, data=Raw(json.dumps(data).encode()), packet_delta=None,
        )  # fmt: skip
        found = listed_findings(event)
        assert found is not None
        assert [each.line for each in found] == list(range(12))
        other = replace(event, data=Raw(b'{"parsed_output": {"findings": 3}, "value": null}'))
        assert listed_findings(other) is None


def test_counts_that_the_packet_shortens_are_counted_in_the_result() -> None:
    listing = {"value": {"findings": [{"code": "F401", "message": ""}] * 3}, "source": "context"}
    event = Event(
        v=1, seq=0, timestamp="", run_id="r", agent_id="a", operation="o", node_id="n",
        turn=0, type="context_update", data=Raw(json.dumps(listing).encode()),
        packet_delta=PacketDelta(update_knowledge={"findings": '{"F401": ... (cut)'}),
    )  # fmt: skip
    assert known_findings(event) == {"F401": 3}
    delta = PacketDelta(update_knowledge={"findings": {"F401": 2}})
    assert known_findings(replace(event, packet_delta=delta)) == {"F401": 2}
