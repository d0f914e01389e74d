"""`remora eval decisions` on a run whose model decided every turn."""

from pathlib import Path

from tests.cli.conftest import Remora
from tests.diagnosis.planted_failures import SUMMARY_LOST, plant


def test_a_page_shows_the_questions_of_a_run(poor: Remora, tmp_path: Path) -> None:
    planted = plant(SUMMARY_LOST, tmp_path / "project", poor)
    done = poor("eval", "decisions", "--html", "page.html", "--json", cwd=planted.root)
    page = (planted.root / "page.html").read_text("utf-8")
    assert (done.code, "wrote page.html" in done.err) == (0, True)
    questions = done.document["questions"]
    assert questions
    assert f"run {planted.run_id}: {len(questions)} question" in page
    assert page.count("<td>src/price.py:total</td>") == len(questions)
    assert "<svg" in page
    assert "default-src 'none'" in page
    assert not any(word in page for word in ("<script", "<link", "<img", "url("))
