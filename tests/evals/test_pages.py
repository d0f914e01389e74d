"""Pages of `eval memory` and `eval decisions`, made from their documents."""

import re
from typing import Any

from remora.evals.eval_report import Arm, EvalReport, ToolCounts
from remora.evals.eval_setting import RECORDED, EvalSetting
from remora.evals.pages.decisions_page import decisions_page
from remora.evals.pages.memory_page import memory_page
from remora.evals.question_report import Question, QuestionReport
from tests.pictures.drawn import HOSTILE

SEEN = ToolCounts(
    calls=4, values=10, given=2, covered=8, remembered=4, tokens=4000, most_tokens=1300,
    too_large=1, facts=5, dropped=1,
)  # fmt: skip


def memory(*arms: Arm, **more: Any) -> str:
    settings: dict[str, Any] = {"streams": 2, "counters": ("upper-bound/1",), "skipped": ()}
    return memory_page(EvalReport(arms=arms, **{**settings, **more}).as_json(), "shop")


def decisions(*questions: Question) -> str:
    return decisions_page(QuestionReport("20260101-000000-abcdef", questions).as_json(), "shop")


def question(**more: Any) -> Question:
    settings: dict[str, Any] = {"agent_id": "a", "node_id": "a.py:f", "turn": 1, "kind": "choice"}
    return Question(**{**settings, "strategy": "grammar", "model": "m", **more})


def cells(page: str, first: str) -> list[str]:
    """The cells of the table's row that begins with `first`."""
    row = re.search(rf"<tr><td>{re.escape(first)}</td>(.*?)</tr>", page)
    assert row is not None
    return re.findall(r"<td>(.*?)</td>", row[1])


def assert_loads_nothing(page: str) -> None:
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"<(script|link|img|iframe|object)|url\(|\ssrc=|\son\w+=|style=", page)


def test_each_setting_is_a_row_with_exact_numbers() -> None:
    smaller = Arm(EvalSetting(limit=600), {"act": SEEN})
    page = memory(Arm(RECORDED, {"act": SEEN, "look": ToolCounts(calls=1)}), smaller)
    assert cells(page, "600 tokens") == ["80 %", "50 %", "80 %", "1,000", "25 %"]
    assert '<path d="" ' not in page
    assert "whisker" not in page.partition("</style>")[2], "counts have no intervals"
    assert "<td>80 % of 10</td>" in page
    assert cells(page, "recorded")[:2] == ["80 %", "50 %"]
    assert_loads_nothing(page)


def test_streams_that_were_left_out_are_notes() -> None:
    page = memory(Arm(RECORDED, {"act": SEEN}), skipped=(("agent-1", "<damaged>"),))
    assert "<h2>Notes</h2>" in page
    assert "skipped agent-1: &lt;damaged&gt;" in page


def test_a_project_without_recorded_calls_has_a_page() -> None:
    page = memory(Arm(RECORDED, {}), streams=0, counters=())
    assert "nothing was recorded" in page
    assert "<svg" not in page


def test_choices_offered_are_shown_against_choices_made() -> None:
    page = decisions(
        question(candidates=2, choice=0, decided_by="fallback", outcomes=2),
        question(candidates=2, choice=1, decided_by="model", outcomes=2, changed=True),
        question(candidates=3, outcomes=1),
    )
    assert cells(page, "2 offered") == ["1 (50 %)", "1 (50 %)", "", "0"]
    assert cells(page, "3 offered") == ["0", "0", "0", "1 (100 %)"]
    assert cells(page, "could matter: 2") == ["1 (50 %)", "1 (50 %)", "0"]
    assert cells(page, "could not matter: 1") == ["0", "0", "1 (100 %)"]
    assert cells(page, "m (grammar)") == ["67 % (21 to 94)", "33 % (6 to 79)"]
    assert page.count("<svg") == 3
    assert_loads_nothing(page)


def test_a_choice_from_a_long_list_is_named_later() -> None:
    page = decisions(question(candidates=9, choice=8, decided_by="model", changed=True))
    assert cells(page, "9 offered")[-2:] == ["1 (100 %)", "0"]
    assert "<td>number 9</td>" in page


def test_each_model_is_a_row_and_all_of_them() -> None:
    page = decisions(question(), question(model="large", kind="text", decided_by="escalation"))
    assert cells(page, "large (grammar)")[0] == "-"
    assert len(cells(page, "all")) == 2


def test_a_run_without_questions_has_a_page() -> None:
    page = decisions()
    assert "No model was asked, because rules decided everything." in page
    assert "<svg" not in page


def test_hostile_names_do_nothing() -> None:
    tools = {HOSTILE: SEEN}
    pages = (
        memory(Arm(RECORDED, tools), counters=(HOSTILE,), notes=(HOSTILE,)),
        decisions(question(node_id=HOSTILE, model=HOSTILE, strategy=HOSTILE, decided_by=HOSTILE)),
    )
    for page in pages:
        assert_loads_nothing(page)
        assert "&lt;script&gt;" in page
        assert not {"\x00", "\x1b", "\u202e", "\u2066"} & set(page)
