"""The pages in a real browser, served by the real command."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser import opened_page
from tests.cli.conftest import Remora, user_without_weights
from tests.diagnosis.planted_failures import Planted
from tests.web.recorded import rewrite, stream_of
from tests.web.test_damage import say_payloads

pytestmark = pytest.mark.slow

NARROW = ViewportSize(width=800, height=900)


@contextmanager
def served(root: Path, user: Remora) -> Iterator[str]:
    """Run `remora ui` for a project, and yield the link that it prints."""
    process = user.start("ui", "--port", "0", cwd=root)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture(scope="session")
def user(tmp_path_factory: pytest.TempPathFactory) -> Remora:
    return user_without_weights(tmp_path_factory.mktemp("user") / "home")


@pytest.fixture
def link(failed: Planted, user: Remora) -> Iterator[str]:
    with served(failed.root, user) as found:
        yield found


def open_agent(page: Page, link: str, agent_id: str) -> None:
    page.goto(link)
    page.wait_for_url("**/")
    page.goto(f"{link.partition('/start')[0]}/agents/{agent_id}")


def test_from_the_link_to_the_cause(browser: Browser, link: str, failed: Planted) -> None:
    with opened_page(browser) as page:
        page.goto(link)
        page.locator(".runs a").first.click()
        page.get_by_role("link", name="src/price.py:total", exact=True).click()
        expect(page.locator(".sentence")).to_contain_text("The summary of check at turn 1 lost")
        expect(page.locator("#badge .badge.good")).to_contain_text("anchored in its run")
        page.get_by_role("link", name="Raw | Packet").click()
        expect(page.get_by_role("heading", name="Raw output")).to_be_visible()


def test_turns_tabs_slider_keys_and_history(browser: Browser, link: str, failed: Planted) -> None:
    with opened_page(browser) as page:
        open_agent(page, link, failed.agent_id)
        for name in ("Why", "Raw | Packet", "Prompt", "Candidates", "Files", "Events"):
            page.get_by_role("link", name=name, exact=True).click()
            # a tab is in the history once it is loaded, also the one that was there before
            expect(page.locator("#turn[aria-busy]")).to_have_count(0)
            expect(page.locator("[data-tab][aria-current]")).to_have_text(name)
        page.locator("#t1").click()
        expect(page.locator(".which")).to_have_text("turn 1")
        expect(page.locator("[data-tab][aria-current]")).to_have_text("Events")
        page.locator("#slider").fill("3")
        expect(page.locator(".which")).to_have_text("turn 3")
        page.locator("h1").click()
        page.keyboard.press("k")
        expect(page.locator(".which")).to_have_text("turn 2")
        expect(page.locator("#t2")).to_have_attribute("aria-current", "true")
        page.go_back()
        expect(page.locator(".which")).to_have_text("turn 2")
        expect(page.locator("[data-tab][aria-current]")).to_have_text("Events")
        for _ in range(6):
            page.go_back()
        expect(page.locator("[data-tab][aria-current]")).to_have_text("Why")
        assert "turn=" not in page.url
        page.go_forward()
        page.reload()
        expect(page.locator(".which")).to_have_text("turn 2")
        page.get_by_role("link", name="Raw | Packet").click()
        page.get_by_label("compare with turn").fill("1")
        page.get_by_role("button", name="Compare").click()
        expect(
            page.get_by_role("heading", name=re.compile("Changes of the packet"))
        ).to_be_visible()


def test_everything_works_without_scripts(browser: Browser, link: str, failed: Planted) -> None:
    with opened_page(browser, scripts=False) as page:
        open_agent(page, link, failed.agent_id)
        page.get_by_role("link", name="Prompt").click()
        expect(page.locator(".which")).to_have_text("turn 2")
        page.get_by_role("link", name="1", exact=True).click()
        expect(page.locator(".which")).to_have_text("turn 1")
        expect(page.locator("#slider")).to_be_hidden()
        page.get_by_role("link", name="verify").click()
        expect(page.locator(".badge.good")).to_be_visible()
        page.locator("a.where").click()
        expect(page.locator(".which")).to_have_text("turn 2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [None, NARROW], ids=["wide", "narrow"])
def test_pages_are_accessible(
    browser: Browser, link: str, failed: Planted, scheme: str, size: ViewportSize | None
) -> None:
    given: dict[str, Any] = {} if size is None else {"viewport": size}
    with opened_page(browser, scheme=scheme, **given) as page:
        page.goto(link)
        page.wait_for_url("**/")
        base = link.partition("/start")[0]
        addresses = ["/", "/judge", "/impact", f"/runs/{failed.run_id}"]
        tabs = ("why", "packet", "prompt", "candidates", "files", "events")
        addresses += [f"/agents/{failed.agent_id}?turn=2&tab={tab}" for tab in tabs]
        addresses += [f"/runs/{failed.run_id}/review"]
        addresses += ["/nodes?name=total", "/nodes/node:src/price.py:total", "/nothing"]
        for address in addresses:
            page.goto(base + address)
            page.wait_for_load_state("networkidle")
            found = Axe().run(page)
            assert found.violations_count == 0, f"{address}: {found.generate_report()}"


def test_hostile_text_does_nothing(
    browser: Browser, user: Remora, failed: Planted, copied: Path
) -> None:
    rewrite(stream_of(copied, failed.agent_id), say_payloads)
    with served(copied, user) as link, opened_page(browser) as page:
        open_agent(page, link, failed.agent_id)
        base = page.url.partition("?")[0]
        for turn in range(4):
            for tab in ("why", "packet", "prompt", "candidates", "files", "events"):
                page.goto(f"{base}?turn={turn}&tab={tab}")
                assert page.evaluate("window.hit") is None
                assert page.locator("iframe, img, svg, style").count() == 0


def test_new_turns_appear_while_an_agent_runs(
    browser: Browser, user: Remora, failed: Planted, copied: Path
) -> None:
    stream = stream_of(copied, failed.agent_id)
    lines = stream.read_bytes().splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == "tool_result")
    stream.write_bytes(b"".join(lines[:start]))
    with _writer(stream) as write, served(copied, user) as link, opened_page(browser) as page:
        open_agent(page, link, failed.agent_id)
        expect(page.locator("#status")).to_have_text("running")
        expect(page.locator("#t2")).to_have_count(0)
        expect(page.locator("#turn")).to_contain_text("No tool ran in this turn")
        write(lines[start])
        expect(page.locator("#turn")).to_contain_text("is assigned and never used")
        _set_hidden(page, hidden=True)
        for line in lines[start + 1 :]:
            write(line)
        page.wait_for_timeout(500)
        expect(page.locator("#t3")).to_have_count(0)
        _set_hidden(page, hidden=False)
        expect(page.locator("#t3")).to_contain_text("check_again()")
        assert page.locator("#slider").get_attribute("max") == "3"
        write(None)
        expect(page.locator("#status .failed")).to_have_text("failed")
        expect(page.locator("#badge .badge.good")).to_be_visible()


def _set_hidden(page: Page, *, hidden: bool) -> None:
    """Let a page be hidden or shown, as when another tab is selected."""
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def test_the_page_of_a_run_that_is_running_is_kept_up_to_date(
    browser: Browser, user: Remora, failed: Planted, copied: Path
) -> None:
    stream = copied / ".agentfs/runs" / f"{failed.run_id}.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    end = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == "job_end")
    stream.write_bytes(b"".join(lines[:end]))
    with _writer(stream) as write, served(copied, user) as link, opened_page(browser) as page:
        page.goto(link)
        page.wait_for_url("**/")
        page.goto(f"{link.partition('/start')[0]}/runs/{failed.run_id}")
        expect(page.locator("#status .running")).to_have_text("running")
        expect(page.locator("#totals")).not_to_contain_text("1 failed")
        page.route("**/runs/*", lambda route: route.abort())
        write(lines[end])
        expect(page.locator("#status")).to_contain_text("cannot be read")
        page.unroute("**/runs/*")
        for line in lines[end + 1 :]:
            write(line)
        expect(page.locator("#totals")).to_contain_text("1 failed")
        write(None)
        expect(page.locator("#status")).to_have_text("failed")
        expect(page.locator("#status .running")).to_have_count(0)
        expect(page.locator("#badge .badge.good")).to_be_visible()


@contextmanager
def _writer(stream: Path) -> Iterator[Any]:
    """Yield a function that appends a line in another process, which holds the stream's lock.

    Called with None, it ends the process.
    """
    code = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'ab', buffering=0)\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\n"
        "for line in sys.stdin.buffer:\n"
        "    file.write(line)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, stream], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        to, out = process.stdin, process.stdout
        assert to is not None
        assert out is not None
        out.readline()

        def write(line: bytes | None) -> None:
            if line is None:
                to.close()
                process.wait(10)
            else:
                to.write(line)
                to.flush()

        yield write


def test_a_server_that_ends_is_named(browser: Browser, user: Remora, failed: Planted) -> None:
    with opened_page(browser) as page:
        with served(failed.root, user) as link:
            open_agent(page, link, failed.agent_id)
            expect(page.locator("#badge .badge.good")).to_be_visible()
        page.get_by_role("link", name="Prompt").click()
        expect(page.locator(".problem")).to_contain_text("Turn 2 cannot be shown")
