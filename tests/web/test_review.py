"""The review on the page: verdicts by hunk, edits and undo change the real files, forms are checked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient

from remora.memory.events import Review, payload
from remora.trace.read.reader import read_events
from tests.browser import opened_page
from tests.cli.conftest import Remora, git, user_without_weights, write
from tests.web.recorded import client_of
from tests.web.test_browser import served

BEFORE = '''"""Reads settings."""
import os
import sys


def read(path):
    """Return the settings in a file."""
    return sys.argv or open(path).read()


x = f'plain'
'''
SETTINGS = '[tool.ruff.lint]\nselect = ["F"]\n'


@pytest.fixture
def user(tmp_path: Path) -> Remora:
    return user_without_weights(tmp_path / "home")


@pytest.fixture
def project(tmp_path: Path, user: Remora) -> Path:
    """A project with one pending change set of two hunks."""
    root = write(
        tmp_path / "project",
        {"settings.py": BEFORE, "pyproject.toml": SETTINGS},
    )
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    done = user("analyze", "-o", "lint", "--model", "none", "--quiet", cwd=root)
    assert done.code == 0, done.err
    return root


@pytest.fixture
def pages(project: Path, user: Remora) -> Iterator[TestClient]:
    with client_of(project, user.home) as client:
        yield client


def address_of(project: Path) -> str:
    (run,) = project.glob(".agentfs/runs/*.jsonl")
    return f"/runs/{run.stem}/review"


def send(pages: TestClient, project: Path, verb: str, **more: Any) -> str:
    """Send a verdict on the only change set with the page's form. Return the message about it."""
    address = address_of(project)
    fields = dict(
        re.findall(r'name="(token|agent|hunks)" value="([^"]*)"', pages.get(address).text)
    )
    answer = pages.post(address, data={"by": "file", **fields, "verb": verb, **more})
    assert answer.status_code == 200, answer.text
    found = re.search(r'role="status">(.*?)</p>', answer.text, re.DOTALL)
    assert found is not None, answer.text
    return found[1]


def verdicts(project: Path) -> list[Review]:
    (run,) = project.glob(".agentfs/runs/*.jsonl")
    return [each for each in map(payload, read_events(run)) if isinstance(each, Review)]


def test_chosen_hunks_are_written_and_taken_back(pages: TestClient, project: Path) -> None:
    assert pages.get(address_of(project)).text.count('name="hunk"') == 2
    assert send(pages, project, "accept", hunk=["2"]).startswith("1 change set accepted")
    text = (project / "settings.py").read_text()
    assert "import os" in text
    assert "f'plain'" not in text
    assert send(pages, project, "undo") == "1 change set pending again: settings.py"
    assert (project / "settings.py").read_text() == BEFORE
    assert [each.verdict for each in verdicts(project)] == ["accepted", "reopened"]
    assert {each.surface for each in verdicts(project)} == {"web"}


@pytest.mark.slow
def test_the_whole_change_set_is_accepted_or_rejected(pages: TestClient, project: Path) -> None:
    assert send(pages, project, "reject", reason="not now").startswith("1 change set rejected")
    send(pages, project, "undo")
    assert send(pages, project, "accept", hunk=["1", "2"]).startswith("1 change set accepted")
    assert "import os" not in (project / "settings.py").read_text()
    assert [each.feedback for each in verdicts(project)] == ["not now", None, None]


@pytest.mark.slow
def test_an_edited_version_is_verified_before_it_is_written(
    pages: TestClient, project: Path
) -> None:
    wrong = send(pages, project, "accept_edited", path="settings.py", content="import sys\r\n")
    assert "not written: settings.py" in wrong
    assert (project / "settings.py").read_text() == BEFORE
    assert verdicts(project) == []
    edited = '"""Reads."""\r\n\r\nplain = 1\r\n'
    right = send(pages, project, "accept_edited", path="settings.py", content=edited)
    assert right.startswith("1 change set accepted")
    assert (project / "settings.py").read_bytes() == b'"""Reads."""\n\nplain = 1\n'


def test_only_forms_of_this_page_decide(pages: TestClient, project: Path) -> None:
    address = address_of(project)
    for token in ("", "0" * 64, "ä"):
        refused = pages.post(address, data={"token": token, "verb": "accept", "hunks": "0"})
        assert refused.status_code == 403
    assert pages.get(f"{address}?verb=accept").status_code == 200
    assert pages.post(address, content=b"x" * 9_000_000).status_code == 413
    assert "is not a verdict" in send(pages, project, "nothing")
    assert send(pages, project, "accept").startswith("Nothing was decided")  # no hunk
    assert verdicts(project) == []


def test_a_run_of_another_installation_is_not_reviewed(project: Path, tmp_path: Path) -> None:
    with client_of(project, tmp_path / "other") as stranger:
        answer = stranger.get(address_of(project))
        assert answer.status_code == 400
        assert "--trust-run" in answer.text


@pytest.mark.slow
def test_hunks_are_chosen_with_the_mouse_and_decided_with_keys(
    browser: Browser, project: Path, user: Remora
) -> None:
    with served(project, user) as link, opened_page(browser) as page:
        page.goto(link)
        page.get_by_role("link", name=re.compile("^20")).click()
        page.get_by_role("link", name="Review 1 pending change set").click()
        page.get_by_label("hunk 1 of 2").uncheck()
        expect(page.locator("button[value=accept]")).to_have_text(re.compile("1 of 2 hunks"))
        page.keyboard.press("y")
        expect(page.locator(".message")).to_contain_text("1 change set accepted")
        assert "import os" in (project / "settings.py").read_text()
        assert "f'plain'" not in (project / "settings.py").read_text()
        page.keyboard.press("u")
        expect(page.locator(".message")).to_contain_text("pending again")
        assert (project / "settings.py").read_text() == BEFORE
        page.keyboard.press("n")
        page.keyboard.type("not now")
        page.keyboard.press("Enter")
        expect(page.locator(".message")).to_contain_text("1 change set rejected")
        assert Axe().run(page).violations_count == 0
