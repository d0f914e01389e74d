"""`report --format html` draws the run."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser import opened_page, started_browser
from tests.cli.conftest import Remora, lint_project, user_without_weights, write
from tests.pictures.drawn import assert_harmless, boxes, texts


@pytest.fixture(scope="module")
def remora(tmp_path_factory: pytest.TempPathFactory) -> Remora:
    return user_without_weights(tmp_path_factory.mktemp("user") / "home")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, remora: Remora) -> Path:
    """A project after a run of two jobs, one of which leaves a finding, with a test."""
    files = {
        "src/other.py": '"""Other."""\nimport os\n\ndef tested(a: int) -> int:\n    """Doc."""\n    return a\n\ndef bare(a):\n    return a\n',
        "tests/test_other.py": "from src.other import tested\n\ndef test_tested():\n    assert tested(1)\n",
    }  # fmt: skip
    root = lint_project(write(tmp_path_factory.mktemp("shop"), files))
    assert remora("analyze", "src", "-o", "steps", "--quiet", cwd=root).code == 0
    return root


def pictures_of(remora: Remora, root: Path) -> list[str]:
    done = remora("report", "last", "--format", "html", cwd=root)
    assert (done.code, done.err) == (0, "")
    assert "default-src 'none'; style-src 'unsafe-inline'" in done.out
    assert not re.search(r"<script|<link|<img|\bstyle=|javascript:|url\(", done.out)
    return re.findall(r"<figure.*?</figure>", done.out, re.DOTALL)


def test_the_report_has_the_timeline(remora: Remora, project: Path) -> None:
    (timeline,) = pictures_of(remora, project)
    assert_harmless(timeline)
    jobs = len(remora("show", "last", "--json", cwd=project).document["jobs"])
    assert f"{jobs} jobs in" in texts(timeline, "desc")[0]
    assert len(boxes(timeline, "state-good", "state-quiet")) == jobs


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_barriers(
    remora: Remora, project: Path, tmp_path: Path, scheme: str
) -> None:
    place = tmp_path / "report.html"
    place.write_text(remora("report", "--format", "html", cwd=project).out, encoding="utf-8")
    refused: list[str] = []
    with started_browser() as browser, opened_page(browser, scheme=scheme) as page:
        page.on("console", lambda message: refused.append(message.text))
        page.goto(place.as_uri())
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.locator("svg[role=img]").count() == 1
        summary = page.locator(".picture summary").first
        summary.focus()
        page.keyboard.press("Enter")
        assert page.locator(".picture table").first.is_visible()
    assert refused == [], "the page's own policy refuses nothing that a picture needs"
