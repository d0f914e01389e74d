"""Clients that reach no socket ask the daemon over HTTP, and only the daemon."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing

import msgspec
import pytest

from remora.hub.client import Context, HubClient
from remora.hub.process import control
from remora.hub.process.addresses import Addresses, make_token, read_addresses, write_addresses
from remora.hub.process.hub_paths import HubPaths, hub_paths
from remora.hub.store.owner_lock import OwnerLock, owner
from remora.usecases.hub.start_daemon import start_hub
from remora.usecases.hub.target import HubTarget
from tests.hub.client.conftest import CART, GENEROUS, TOTAL, House, ask

ANSWERS = {
    "health": {"status": "ok", "protocol": 1},
    "status": {"running": True},
    "get_context": {},
}
MIB = 1 << 20


@pytest.fixture
def files(house: House) -> Iterator[HubPaths]:
    """The files of a daemon that holds its lock and serves HTTP, but has no socket."""
    lock = OwnerLock(house.places.lock)
    make_token(house.places.token)
    yield house.places
    lock.close()


def said(kind: str, **headers: str) -> bytes:
    """The answer of a daemon."""
    body = msgspec.json.encode({"ok": True, "generation": 7, "result": ANSWERS[kind]})
    lines = {"Content_Length": str(len(body)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return b"HTTP/1.1 200 OK\r\n" + head.encode() + b"\r\n" + body


class Server:
    """A server on loopback that answers each request as `say` does, and keeps what it got."""

    def __init__(self, say: Callable[[str], bytes | None]) -> None:
        self.say = say
        self.heads: list[bytes] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
                size = int(head.lower().partition(b"content-length: ")[2].split()[0])
                request = msgspec.json.decode(await reader.readexactly(size))
                answer = self.say(request["type"])
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def asked_beside(
    house: House,
    server: Server,
    *,
    url: str = "http://127.0.0.1:{}",
    deadline: float = GENEROUS,
    change: Callable[[HubPaths], object] = bool,
) -> Context:
    """Ask a client whose addresses file names a server; `change` is made to the files before."""

    async def main() -> Context:
        async with server.serving() as port:
            there = Addresses(socket=str(house.folder / "nowhere"), http=url.format(port))
            write_addresses(house.places.addresses, there)
            change(house.places)
            return await house.client(deadline=deadline).get_context([TOTAL])

    return asyncio.run(main())


@pytest.mark.usefixtures("files")
def test_a_daemon_without_a_socket_is_asked_over_http(house: House) -> None:
    server = Server(said)
    found = asked_beside(house, server)
    assert (found.source, found.generation) == ("http", 7)
    token = house.places.token.read_bytes().strip()
    assert [head.split()[1] for head in server.heads] == [
        b"/v1/health", b"/v1/status", b"/v1/get_context",
    ]  # fmt: skip
    assert all(b"Authorization: Bearer " + token in head for head in server.heads)


FALSE_ANSWERS: dict[str, Callable[[str], bytes | None]] = {
    "401": lambda kind: b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}",
    "a redirect": lambda kind: said(kind, Location="/").replace(b"200 OK", b"302 Found"),
    "chunked": lambda kind: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "half a head": lambda kind: b"HTTP/1.1 200 OK\r\nContent-Len",
    "an endless head": lambda kind: b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * MIB,
    "another size": lambda kind: said(kind, Content_Length="3"),
    "half a body": lambda kind: said(kind, Content_Length="300"),
    "65 MiB": lambda kind: said(kind, Content_Length=str(65 * MIB)) + b" " * (65 * MIB),
    "a negative size": lambda kind: said(kind, Content_Length="-1"),
    "no HTTP": lambda kind: b"\xff\0{]\r\n\r\n",
    "another version": lambda kind: said(kind).replace(b'"protocol":1', b'"protocol":2'),
    "another root": lambda kind: said("health" if kind == "health" else "other"),
    "nothing": lambda kind: b"",
    "hangs up": lambda kind: None,
}


LATE = {"half a head", "half a body"}
"""Like `nothing`, they cost the whole deadline."""


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in LATE)) for name in FALSE_ANSWERS],
)
def test_a_server_that_is_not_a_daemon_is_skipped(
    house: House, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = {"root": "/elsewhere/" + "x" * 20}
    monkeypatch.setitem(ANSWERS, "other", root)
    server = Server(FALSE_ANSWERS[fault])
    found = asked_beside(house, server, deadline=1.5)
    assert (found.source, list(found)) == ("file", [TOTAL])
    assert server.heads


def link_token(places: HubPaths) -> None:
    places.token.symlink_to(places.token.rename(places.token.with_name("elsewhere")))


CHANGES: dict[str, Callable[[HubPaths], object]] = {
    "no token": lambda places: places.token.unlink(),
    "a token that others can read": lambda places: places.token.chmod(0o640),
    "a linked token": link_token,
    "a token that is more than a line": lambda places: places.token.write_bytes(b"a\r\nX: y\n"),
    "addresses that others can write": lambda places: places.addresses.chmod(0o602),
}
if os.geteuid() == 0:  # only root can be somebody else
    CHANGES["another user's token"] = lambda places: os.chown(places.token, 12345, 12345)
    CHANGES["another user's addresses"] = lambda places: os.chown(places.addresses, 12345, 12345)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("change", CHANGES)
def test_files_that_are_not_the_users_alone_are_not_used(house: House, change: str) -> None:
    server = Server(said)
    assert asked_beside(house, server, change=CHANGES[change]).source == "file"
    assert server.heads == []


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "url",
    ["http://0.0.0.0:{}", "http://localhost:{}", "https://127.0.0.1:{}", "http://127.0.0.1:{}/x",
     "http://127.0.0.1:9{}", "http://user@127.0.0.1:{}", "127.0.0.1:{}", ""],
)  # fmt: skip
def test_only_the_addresses_of_daemons_are_used(house: House, url: str) -> None:
    server = Server(said)
    assert asked_beside(house, server, url=url).source == "file"
    assert server.heads == []


def test_the_port_of_a_killed_daemon_is_not_asked(house: House) -> None:
    OwnerLock(house.places.lock).close()
    make_token(house.places.token)
    server = Server(said)
    assert asked_beside(house, server).source == "file"
    assert server.heads == []


def test_a_daemon_removes_what_a_killed_one_left(house: House) -> None:
    house.raised_to("http")
    pid = owner(house.places.lock)
    assert pid
    os.kill(pid, 9)
    house.until(lambda: owner(house.places.lock) is None)
    assert ask(house.client(), [TOTAL]).source in ("sqlite", "file")
    usual = hub_paths(house.caller.folders, house.root)
    assert usual.token.exists()
    start_hub(house.caller, HubTarget())
    found = read_addresses(usual.addresses)
    assert found is not None
    assert found.http is None
    assert not usual.token.exists()


def test_a_kept_connection_outlives_the_daemon_and_a_named_socket_uses_no_http(
    house: House,
) -> None:
    house.raised_to("http")
    nowhere = house.folder / "nowhere"
    client = HubClient(house.root, socket_path=nowhere, places=house.places, deadline=GENEROUS)
    with closing(client):
        assert ask(client, [TOTAL]).source != "http"
    client = house.client(keep_connections=True)

    def connections() -> list[object]:
        return list(client._daemon._kept.values())

    async def main() -> list[str | None]:
        first = await client.get_context([TOTAL])
        kept = connections()
        second = await client.get_context([CART])
        assert connections() == kept
        assert len(kept) == 1
        await asyncio.to_thread(control.stop, house.places)
        between = await client.get_context([TOTAL])
        await asyncio.to_thread(start_hub, house.caller, HubTarget(http="0"))
        house.hide_socket()
        client._daemon._places = house.places
        third = await client.get_context([TOTAL])
        return [found.source for found in (first, second, between, third)]

    assert asyncio.run(main()) == ["http", "http", "sqlite", "http"]


@pytest.mark.usefixtures("files")
def test_a_busy_daemon_is_not_asked_over_http_too(house: House) -> None:
    def say_line(kind: str) -> bytes:
        if kind in ("health", "status"):
            return said(kind).partition(b"\r\n\r\n")[2] + b"\n"
        return b'{"ok":false,"error":{"code":"busy","message":"no"}}\n'

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(say_line(msgspec.json.decode(line)["type"]))
        writer.close()

    async def main() -> Context:
        place = house.places.socket
        place.parent.mkdir(parents=True)
        async with server.serving() as port, await asyncio.start_unix_server(serve, place):
            there = Addresses(socket=str(place), http=f"http://127.0.0.1:{port}")
            write_addresses(house.places.addresses, there)
            return await house.client(deadline=10.0).get_context([TOTAL])

    server = Server(said)
    assert asyncio.run(main()).source == "file"
    assert server.heads == []


@pytest.mark.slow
def test_a_client_in_a_container_asks_over_http(house: House) -> None:
    """It has the network and the files of the user, but other process ids and no socket."""
    container = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child"]
    if not shutil.which("unshare") or subprocess.run([*container, "true"], check=False).returncode:
        pytest.skip("no namespaces")
    start_hub(house.caller, HubTarget(http="0"))
    house.until(lambda: ask(house.client(), [TOTAL]).source == "socket")
    program = (
        "import asyncio, sys\n"
        "from remora import HubClient\n"
        "async def main():\n"
        "    async with HubClient(sys.argv[1], deadline=20) as hub:\n"
        "        print((await hub.get_context([sys.argv[2]])).source)\n"
        "asyncio.run(main())\n"
    )
    hide = f'mount -t tmpfs none {house.folder / "run"} 2>/dev/null; exec "$@"'
    done = subprocess.run(
        [*container, "--mount", "sh", "-c", hide, "-", sys.executable, "-c", program,
         str(house.root), TOTAL],
        env=dict(house.caller.environ), capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("http\n", "")
    stop = [*container, sys.executable, "-m", "remora", "hub", "stop", "--root", str(house.root)]
    stopped = subprocess.run(
        stop, env=dict(house.caller.environ), capture_output=True, text=True, check=False
    )
    assert "process id is unknown" in stopped.stderr
    assert house.places.token.exists()
