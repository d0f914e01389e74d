"""A real browser for tests: the Chromium of the system, without a window."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

expect.set_options(timeout=20_000)  # milliseconds, also on a machine that others use
_NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE = ViewportSize(width=1440, height=900)


def chromium_path() -> str:
    """Return the path of Chromium. Without it the test is skipped."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(_NAMES)} is on PATH")
    return found


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Yield a browser that ends with the block."""
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened_page(
    browser: Browser, *, viewport: ViewportSize = WIDE, scheme: str = "light", scripts: bool = True
) -> Iterator[Page]:
    """Yield a page that fails the test if a script fails or a request leaves this machine."""
    context = browser.new_context(
        viewport=viewport,
        color_scheme="dark" if scheme == "dark" else "light",
        java_script_enabled=scripts,
    )
    problems: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.extend(_foreign(request.url)))
    yield page
    context.close()
    assert problems == []


def _foreign(url: str) -> list[str]:
    is_ours = url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:"))
    return [] if is_ours else [f"request to {url}"]
