"""What the page shows of failures: scripts, host calls, checks, conflicts, and what was dropped."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.cli.conftest import Remora, user_without_weights
from tests.diagnosis.planted_failures import (
    ALL,
    BUDGET_DROPPED,
    CONFLICT,
    REFUSED_EDIT,
    WRONG_CHOICE,
    Case,
    Planted,
    plant,
)
from tests.web.recorded import client_of


@pytest.fixture
def user(tmp_path: Path) -> Remora:
    return user_without_weights(tmp_path / "home")


def shown(case: Case, user: Remora, folder: Path) -> tuple[TestClient, Planted]:
    """Record a case, and return what reads its pages."""
    planted = plant(case, folder / "project", user)
    return client_of(planted.root, folder), planted


def test_a_failed_call_shows_its_host_calls_and_the_line_of_its_script(
    user: Remora, tmp_path: Path
) -> None:
    pages, planted = shown(REFUSED_EDIT, user, tmp_path)
    text = pages.get(f"/agents/{planted.agent_id}?turn=1").text
    assert "edit_text(&#34;src/price.py&#34;, 5, &#34;unused = order.coupon&#34;, null)" in text
    assert "begins with 4 white space characters, not 0" in text
    assert text.count('<span class="del">') == 3, "in each turn"
    failing = text.partition('<span class="del">')[2].partition("\n")[0]
    assert "edit_text(target" in failing
    assert '<li class="failed">1 failed</li>' in pages.get("/").text, "failed jobs of the run"


def test_a_refused_submission_shows_its_checks(user: Remora, tmp_path: Path) -> None:
    pages, planted = shown(WRONG_CHOICE, user, tmp_path)
    text = pages.get(f"/agents/{planted.agent_id}?turn=2").text
    assert '<li class="bad">defined_names: src/price.py:6: Undefined name' in text
    refused = re.search(rf'href="/agents/{planted.agent_id}\?turn=(\d)&amp;record=1#(e\d+)"', text)
    assert refused is not None
    events = pages.get(f"/agents/{planted.agent_id}?turn={refused[1]}&record=1").text
    assert f'<tr id="{refused[2]}">' in events


def test_a_conflict_is_named_everywhere(user: Remora, tmp_path: Path) -> None:
    pages, planted = shown(CONFLICT, user, tmp_path)
    run = pages.get(f"/runs/{planted.run_id}").text
    assert '<span class="state conflict">conflict</span>' in run
    assert "Conflict: the change of turn 1 could not be merged with your files" in run
    assert "Review 1 change</a>: 1 conflict" in run
    assert "1 conflict</li>" in run
    agent = pages.get(f"/agents/{planted.agent_id}").text
    assert '<p class="sentence">Conflict: the change of turn 1' in agent
    assert '<span class="state conflict">conflict</span>' in agent


def test_both_versions_of_a_conflict_are_shown_and_it_is_not_accepted(
    user: Remora, tmp_path: Path
) -> None:
    planted = plant(CONFLICT, tmp_path / "project", user)
    pages = client_of(planted.root, user.home)
    address = f"/runs/{planted.run_id}/review"
    text = pages.get(address).text
    assert "You changed line 5 of src/price.py after the run started." in text
    for line in ("unused = ", "coupon = order.voucher"):
        assert text.count(f">    {line}") == 1
    assert 'value="accept"' not in text
    assert 'value="reject"' in text

    file = planted.root / "src/price.py"
    file.write_text(file.read_text().replace("coupon = order.voucher", "unused = order.coupon"))
    text = pages.get(address).text
    assert "Your files no longer conflict with this change." in text
    assert 'value="accept"' in text


@pytest.mark.slow
def test_what_the_budget_dropped_is_beside_the_packet(user: Remora, tmp_path: Path) -> None:
    pages, planted = shown(BUDGET_DROPPED, user, tmp_path)
    text = pages.get(f"/agents/{planted.agent_id}?turn=7").text
    turns = text.split("<article")[1:]
    trimmed = [number for number, turn in enumerate(turns) if '">trimmed</span>' in turn]
    assert trimmed == [2, 3, 4, 5, 6, 7, 8, 9], "each turn after the 12 lines were found"
    dropped = turns[7].partition("The packet did not say")[2]
    assert re.match(r" \d+ parts: the budget left out at most \d+ tokens</summary>", dropped)
    assert "line 18 of the function prints order.weekend_fee" in dropped
    assert "Removed line 7" in dropped
    prompt = pages.get(f"/agents/{planted.agent_id}/turns/7").text
    assert re.search(r"messages [\d.,]+ (KB|bytes) \+ tools [\d.,]+ (KB|bytes)", prompt)
    assert prompt.index("<h3>Decoding</h3>") < prompt.index("SHA-256 of the bytes")
    refused = [number for number, turn in enumerate(turns) if '<li class="bad">check.pym' in turn]
    assert refused == [7, 8, 9], "each of the refused submissions"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_each_planted_failure_opens_with_its_cause(user: Remora, tmp_path: Path) -> None:
    for number, case in enumerate(ALL):
        pages, planted = shown(case, user, tmp_path / str(number))
        text = pages.get(f"/agents/{planted.agent_id}").text
        assert '<p class="sentence">' in text, case.name
