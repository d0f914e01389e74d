"""`remora mcp --http` as a process: the official client, the token, and who is refused."""

import asyncio
import json
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.conftest import Remora


@pytest.fixture(scope="module")
def url(project: Path, home: Path) -> Iterator[str]:
    process = Remora(home).start("mcp", "--http", "0", cwd=project)
    assert process.stderr is not None
    try:
        yield process.stderr.readline().strip().rpartition(" ")[2]
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=20)
        assert out == ""


@pytest.fixture(scope="module")
def token(project: Path, home: Path, url: str) -> str:
    """The token, as `--print-config` prints it."""
    port = httpx2.URL(url).port
    done = Remora(home)("mcp", "--print-config", "claude", "--http", str(port), cwd=project)
    entry = json.loads(done.out)["mcpServers"]["remora"]
    assert entry["url"] == url
    return str(entry["headers"]["Authorization"].removeprefix("Bearer "))


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_the_official_client_asks_over_http(url: str, token: str, mode: str) -> None:
    async def ask() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            answers = [client.call_tool("context", {"name": "Cart.total"}) for _ in range(8)]
            for answer in await asyncio.gather(*answers):
                assert answer.structured_content["name"] == "shop/cart.py:Cart.total"

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
        ({"Host": "example.org"}, 403),
        ({"Origin": "http://example.org"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_others_are_refused(url: str, token: str, headers: dict[str, str], status: int) -> None:
    usual = {"Authorization": f"Bearer {token}", "Content-Type": "application/json",
             "Accept": "application/json, text/event-stream"}  # fmt: skip
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    sent = {name.encode(): value.encode("latin-1") for name, value in (usual | headers).items()}
    answer = httpx2.post(url, headers=sent, content=json.dumps(body))
    assert answer.status_code == status


def test_only_the_user_can_read_the_token(home: Path, token: str) -> None:
    (path,) = (home / "state").rglob("mcp.token")
    assert path.read_text().strip() == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_port_in_use_is_an_error(project: Path, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = Remora(home)("mcp", "--http", str(port), cwd=project)
    assert done.code == 3
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert "choose another port" in done.err


@pytest.mark.slow
def test_the_server_listens_on_loopback_only(project: Path, home: Path, url: str) -> None:
    port = httpx2.URL(url).port
    listening = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in listening.splitlines() if f":{port} " in line)
    assert line.split()[3] == f"127.0.0.1:{port}"
    done = Remora(home)("mcp", "--http", "0.0.0.0:0", cwd=project)
    assert done.code == 2
    assert "not a loopback address" in done.err
