"""Who is let in: links, cookies and the origin of requests, and answers when something fails."""

import asyncio
import os
import re
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from remora.bootstrap.invocation import Invocation
from remora.web.application import create_app
from remora.web.session import START, Session
from tests.cli.conftest import Remora, user_without_weights
from tests.diagnosis.planted_failures import Planted
from tests.hub.daemon.hub_process import wait_until
from tests.web.recorded import PORT

HOST = f"http://127.0.0.1:{PORT}"


def used() -> None:
    """Nothing reads the output of the command."""
    raise BrokenPipeError


@pytest.fixture
def session() -> Session:
    return Session(PORT)


@pytest.fixture
def stranger(failed: Planted, tmp_path: Path, session: Session) -> Iterator[TestClient]:
    """A client without a cookie."""
    invocation = Invocation(environ=Remora(tmp_path).environment, folder=failed.root)
    app = create_app(invocation, session, used)
    with TestClient(app, base_url=HOST, raise_server_exceptions=False) as client:
        yield client


def test_a_link_lets_in_though_the_next_one_cannot_be_shown(
    stranger: TestClient, session: Session
) -> None:
    assert stranger.get(session.new_link()).status_code == 200
    assert stranger.get("/").status_code == 200


def test_a_page_that_refuses_has_its_style_and_no_search(stranger: TestClient) -> None:
    refused = stranger.get("/")
    assert refused.status_code == 403
    assert 'href="/static/page.css"' in refused.text
    assert "<form" not in refused.text
    assert stranger.get("/static/page.css").status_code == 200


@pytest.mark.parametrize("path", ["/static/../", "/static/../runs/x", "/static/%2e%2e/session.py"])
def test_no_page_is_reached_through_the_folder_of_styles(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code in (403, 404)


def test_looking_at_a_link_does_not_use_it_up(stranger: TestClient, session: Session) -> None:
    link = session.new_link()
    assert stranger.head(link).status_code == 405
    assert stranger.get(link, headers={"Sec-Purpose": "prefetch"}).status_code == 405
    assert stranger.get("/").status_code == 403
    assert stranger.get(link).status_code == 200


def test_text_that_is_not_ascii_lets_nobody_in(stranger: TestClient, session: Session) -> None:
    assert stranger.get(f"{START}é").status_code == 403
    cookie = f'{session.cookie}="\\351"'
    assert stranger.get("/", headers={"Cookie": cookie}).status_code == 403


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)],
)
def test_requests_of_other_pages_are_refused(
    stranger: TestClient, session: Session, site: str, status: int
) -> None:
    headers = {"Sec-Fetch-Site": site}
    assert stranger.get(session.new_link(), headers=headers).status_code == 200
    assert stranger.get("/", headers=headers).status_code == status


def test_a_fault_is_a_page_with_the_headers_of_all_pages(
    stranger: TestClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger.get(session.new_link())
    monkeypatch.setattr("remora.web.review_page.open_project", lambda _: 1 // 0)
    answer = stranger.get("/runs/x/review")
    assert answer.status_code == 500
    assert "a fault in Remora: ZeroDivisionError" in answer.text
    assert "default-src" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    refused = stranger.get("/", headers={"Host": "example.org"})
    assert refused.status_code == 403
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_a_client_that_leaves_during_a_form_is_no_fault(
    stranger: TestClient, session: Session
) -> None:
    """The application is called as the server calls it when a client disconnects."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {"host": f"127.0.0.1:{PORT}", "cookie": f"{session.cookie}={session.secret}"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/runs/x/review",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", PORT),
    }
    asyncio.run(cast(Any, stranger.app)(scope, receive, send))
    assert sent[0]["status"] == 200


@pytest.mark.slow
def test_a_browser_is_opened_without_its_link_and_without_a_wait(
    failed: Planted, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {seen}.part; mv {seen}.part {seen}; exec sleep 60\n'
    )
    browser.chmod(0o700)
    home = user_without_weights(tmp_path / "home")
    user = Remora(home.home, {**home.environ, "BROWSER": str(browser)})
    process = user.start("ui", "--port", "0", "--open", cwd=failed.root)
    try:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        wait_until(seen.exists)
        (name,) = seen.read_text().split()
        file = Path(name.removeprefix("file://"))
        assert link not in name
        assert re.findall(r'url=(.*?)"', file.read_text()) == [link]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert httpx2.get(link).status_code == 200, "the server does not wait for the browser"
    finally:
        os.killpg(process.pid, 2)
        process.communicate(timeout=20)
    assert not file.parent.exists()


@pytest.mark.slow
def test_ctrl_c_ends_the_server_without_an_error(failed: Planted, tmp_path: Path) -> None:
    user = user_without_weights(tmp_path / "home")
    process = user.start("ui", "--port", "0", cwd=failed.root)
    assert process.stdout is not None
    link = process.stdout.readline().split()[-1]
    assert httpx2.get(link.partition("/start")[0]).status_code == 403
    process.send_signal(signal.SIGINT)
    _, problems = process.communicate(timeout=10)
    assert (process.returncode, problems) == (0, "")
