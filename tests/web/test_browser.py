"""The pages in a real browser, served by the real command."""

import json
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
from tests.cli.conftest import Remora, new_repository, user_without_weights, write
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
        expect(page.locator("#badge .badge.good")).to_contain_text("against its run")
        page.get_by_role("link", name="1", exact=True).click()
        expect(page.locator("#t1")).to_be_focused()
        expect(page.locator("#t1 p.lost")).to_contain_text("The packet did not say this")


def test_turns_keys_and_records(browser: Browser, link: str, failed: Planted) -> None:
    with opened_page(browser) as page:
        open_agent(page, link, failed.agent_id)
        expect(page.locator("#t2")).to_have_attribute("aria-current", "true")
        page.keyboard.press("j")
        expect(page.locator("#t3")).to_be_focused()
        page.keyboard.press("k")
        expect(page.locator("#t2")).to_be_focused()
        page.get_by_role("link", name="Turn 1").click()
        expect(page.locator("#t1")).to_be_focused()
        page.go_back()
        expect(page.locator("#t2")).to_be_focused()
        assert page.url.endswith("?turn=2#t2")
        page.locator("#t2 .record > summary").click()
        expect(page.locator("#t2 .prompt")).to_contain_text("SHA-256 of the bytes")
        page.get_by_role("link", name="5", exact=True).click()
        expect(page.locator("#e5")).to_be_in_viewport()
        expect(page.locator("#e5 details")).to_have_attribute("open", "")


def test_everything_works_without_scripts(browser: Browser, link: str, failed: Planted) -> None:
    with opened_page(browser, scripts=False) as page:
        open_agent(page, link, failed.agent_id)
        page.locator("#t1 .record > summary").click()
        page.locator("#t1").get_by_role("link", name="Prompt and events").click()
        expect(page.locator("#t1 .prompt")).to_contain_text("SHA-256 of the bytes")
        page.get_by_role("link", name="verify").click()
        expect(page.locator(".badge.good")).to_be_visible()
        page.locator("a.where").click()
        expect(page.locator("#t2")).to_be_visible()


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
        addresses += [f"/agents/{failed.agent_id}", f"/agents/{failed.agent_id}?turn=2&record=1"]
        addresses += [f"/runs/{failed.run_id}/review"]
        addresses += ["/nodes?name=price", "/nodes/node:src/price.py:total", "/nothing"]
        for address in addresses:
            page.goto(base + address)
            page.wait_for_load_state("networkidle")
            found = Axe().run(page)
            assert found.violations_count == 0, f"{address}: {found.generate_report()}"


def test_a_judgement_is_followed_to_its_end_and_found_again(
    browser: Browser, user: Remora, tmp_path: Path
) -> None:
    root = new_repository(write(tmp_path / "shop", {"shop.py": "A = 1\n"}))
    write(root, {"shop.py": "A = 2\n"})
    with served(root, user) as link, opened_page(browser) as page:
        page.goto(link)
        page.wait_for_url("**/")
        page.get_by_role("navigation").get_by_role("link", name="Judge").click()
        page.get_by_role("button", name="Run the tests, too").click()
        page.wait_for_url("**/judge?last=1")
        page.get_by_role("link", name="Runs").click()
        expect(page.locator("#project")).to_contain_text("nothing found in the files")
        page.locator("#project").get_by_role("link", name="0 remarks").click()
        expect(page.get_by_role("button", name="Judge again")).to_be_visible()
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save as one file").click()
        saved.value.save_as(file := tmp_path / saved.value.suggested_filename)
        page.goto(file.as_uri())
        expect(page.locator("main .lead")).to_contain_text("No remarks on 1 changed Python file")
        assert Axe().run(page).violations_count == 0


def test_hostile_text_does_nothing(
    browser: Browser, user: Remora, failed: Planted, copied: Path
) -> None:
    rewrite(stream_of(copied, failed.agent_id), say_payloads)
    with served(copied, user) as link, opened_page(browser) as page:
        open_agent(page, link, failed.agent_id)
        base = page.url.partition("?")[0]
        for turn in range(4):
            page.goto(f"{base}?turn={turn}&record=1")
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
        page.locator("#t1 .record > summary").focus()
        expect(page.locator("#t1 .step", has_text="Result")).to_have_count(0)
        write(lines[start])
        expect(page.locator("#t1")).to_contain_text("is assigned and never used")
        expect(page.locator("#t1 .record > summary")).to_be_focused()
        _set_hidden(page, hidden=True)
        for line in lines[start + 1 :]:
            write(line)
        page.wait_for_timeout(500)
        expect(page.locator("#t3")).to_have_count(0)
        _set_hidden(page, hidden=False)
        expect(page.locator("#t3")).to_contain_text("check_again()")
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
        page.locator("#t2 .record > summary").click()
        expect(page.locator(".problem")).to_contain_text("This cannot be shown")
