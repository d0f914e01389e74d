"""The review on the page in a real browser: hunks by mouse, verdicts by keys."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser import opened_page
from tests.cli.conftest import Remora
from tests.web.test_browser import served
from tests.web.test_review import BEFORE, address_of, project, two, user, verdicts

__all__ = ["project", "two", "user"]
pytestmark = pytest.mark.slow


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_viewed_changes_fold_and_keep_the_keys(
    browser: Browser, project: Path, user: Remora
) -> None:
    with served(project, user) as link, opened_page(browser) as page:
        page.goto(link)
        page.locator(".runs a").first.click()
        page.get_by_role("link", name="Review 1 change").click()
        expect(page.locator(".reach").first).to_contain_text("No known test reaches settings.py")
        page.get_by_role("button", name="↑ more lines").click()
        expect(page.locator(".hunk-lines").last).to_contain_text("import sys")
        page.get_by_role("checkbox", name="viewed").check()
        page.reload()
        expect(page.locator("#viewed")).to_have_text(", 1 of 1 viewed")
        expect(page.locator(".hunk-lines").last).to_be_hidden()
        press(page, "v", "J", "v")
        expect(page.locator(".change-set")).to_be_focused()
        page.locator("h1").click()
        press(page, "k", "v", "s", "n", "Escape", "y")
        expect(page.locator(".verdict .problem")).to_have_text(re.compile("Check a hunk first"))


def test_hunks_are_chosen_and_decided_with_keys(
    browser: Browser, project: Path, user: Remora
) -> None:
    with served(project, user) as link, opened_page(browser) as page:
        page.goto(link)
        page.locator(".runs a").first.click()
        page.get_by_role("link", name="Review 1 change").click()
        expect(page.locator(".change-set")).to_be_focused()
        press(page, "s", "J", "J", "Space")
        expect(page.locator("button[value=accept]")).to_have_text(re.compile("1 of 2 hunks"))
        page.keyboard.press("y")
        expect(page.locator(".message")).to_contain_text("1 change accepted")
        assert "import os" in (project / "settings.py").read_text()
        assert "f'plain'" not in (project / "settings.py").read_text()
        expect(page.locator(".decided")).to_be_focused()  # the script has run
        page.keyboard.press("u")
        expect(page.locator(".message")).to_contain_text("pending again")
        assert (project / "settings.py").read_text() == BEFORE
        expect(page.locator(".change-set")).to_be_focused()
        page.locator(".hunk-lines .del").first.click()
        page.keyboard.type("not now")
        expect(page.locator("[name=reason]")).to_have_value(re.compile(r"settings\.py:\d+ not now"))
        page.keyboard.press("Enter")
        expect(page.locator(".message")).to_contain_text("1 change rejected")
        assert Axe().run(page).violations_count == 0


def test_keys_decide_only_on_what_has_the_focus(browser: Browser, two: Path, user: Remora) -> None:
    with served(two, user) as link, opened_page(browser) as page:
        page.goto(link)
        page.wait_for_url("**/")
        with page.expect_response(lambda answer: "?only=" in answer.url):
            page.goto(link.partition("/start")[0] + address_of(two))
        boxes = page.locator(".change-set")
        expect(boxes.first).to_be_focused()
        page.keyboard.press("j")
        expect(boxes.last.locator("[name=hunk]")).to_have_count(1)
        page.keyboard.press("y")
        expect(page.locator(".message")).to_contain_text("1 change accepted: b.py")
        expect(boxes).to_be_focused()
        page.get_by_label("comment").fill("no")
        page.locator("[name=hunk]").first.press("Enter")
        page.locator("h1").click()
        page.keyboard.press("y")
        page.evaluate(
            """document.querySelector(".change-set").dispatchEvent(
              new KeyboardEvent("keydown", {key: "y", repeat: true, bubbles: true}))"""
        )
        page.reload()
        expect(boxes).to_be_focused()
        assert "import os" in (two / "a.py").read_text()
        assert Axe().run(page).violations_count == 0


def test_enter_without_scripts_decides_nothing(browser: Browser, two: Path, user: Remora) -> None:
    with served(two, user) as link, opened_page(browser, scripts=False) as page:
        page.goto(link)
        page.wait_for_url("**/")
        page.goto(link.partition("/start")[0] + address_of(two))
        page.get_by_label("comment").first.fill("wrong")
        page.keyboard.press("Enter")
        page.locator("[name=hunk]").first.press("Enter")
        expect(page.locator(".problem")).to_contain_text("no button was pressed")
        expect(page.locator(".change-set")).to_have_count(2)
        assert verdicts(two) == []
