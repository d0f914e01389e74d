"""The daemon as a process: never stale, one for each root, and nothing ends it but what should."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from remora.hub.protocol import StatusResult
from tests.hub.conftest import Client
from tests.hub.daemon.hub_process import Hub, is_gone, wait_until

SOURCE = "def f(x):\n    return g(x)\n\n\ndef g(x):\n    return x\n"


@pytest.fixture
def hub(short: Path) -> Iterator[Hub]:
    hub = Hub(short, short / "project")
    hub.write("a.py", SOURCE)
    yield hub
    hub.end()


@pytest.fixture(scope="module")
def running() -> Iterator[Hub]:
    """A hub that no test ends."""
    home = Path(tempfile.mkdtemp(prefix="rh-"))
    hub = Hub(home, home / "project")
    hub.write("a.py", SOURCE)
    hub.start()
    yield hub
    hub.end()
    shutil.rmtree(home)


@pytest.fixture
def shared(running: Hub) -> Hub:
    """With one file, as at the start."""
    for path in running.root.iterdir():
        path.unlink()
    running.write("a.py", SOURCE)
    return running


@pytest.fixture
def client(shared: Hub) -> Iterator[Client]:
    with Client(shared.socket) as client:
        yield client


def context(client: Client, *keys: str) -> Any:
    return client.ask("get_context", nodes=list(keys))["result"]


def test_daemon_starts_joins_tells_and_stops(hub: Hub) -> None:
    assert hub.status()["running"] is False
    started = hub.start()
    assert set(started) == set(StatusResult.__struct_fields__)
    assert started["protocol"] == 1
    assert hub.begun()["pid"] == started["pid"]
    for path in (hub.home / "cache").rglob("*"):
        wanted = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == wanted, path
    assert sorted(path.name for path in hub.root.iterdir()) == ["a.py"]
    status = hub.status()
    assert (status["running"], status["files"], status["nodes"]) == (True, 1, 3)
    assert status["root"] == str(hub.root)
    assert hub.stop() == started["pid"]
    assert is_gone(started["pid"])
    assert hub.stop() is None
    left = {path.name for path in hub.cache.iterdir()}
    assert not left & {"hub.db.addresses", "hub.db.token"}
    assert not list((hub.home / "run" / "remora" / "hub").iterdir())
    at_rest = hub.status()
    assert (at_rest["files"], at_rest["nodes"], at_rest["watcher"]) == (1, 3, "off")


def test_unknown_nodes_and_paths_are_reported(client: Client, shared: Hub) -> None:
    assert context(client, "node:a.py:nothing") == {}
    for kind in ("get_node", "callers", "callees", "tests"):
        said = client.ask(kind, id=3, node="node:a.py:nothing")
        assert (said["id"], said["error"]["code"]) == (3, "unknown_node")
    for path in ("a.py", str(shared.root / "a.py"), ".", "not/there.py"):
        assert client.ask("invalidate", path=path)["ok"] is True
    for path in ("../a.py", "/etc/passwd", "a\0.py", "x" * 300, "d/" * 9000 + "a.py"):
        assert client.ask("invalidate", path=path)["error"]["code"] == "bad_request"
    assert context(client, "node:a.py:f")


def test_a_generation_shows_what_changed(shared: Hub, client: Client) -> None:
    before = client.ask("health")["generation"]
    shared.write("b.py", "def new(): pass\n")
    said = client.ask("changed_since", generation=before)
    assert said["generation"] > before
    assert "node:b.py:new" in said["result"]["changed"]
    assert said["result"]["complete"] is True
    unknown = client.ask("changed_since", generation=5)["result"]
    assert (unknown["changed"], unknown["complete"]) == ([], False)


def test_an_edit_makes_a_generation_only_if_answers_change(shared: Hub, client: Client) -> None:
    before = context(client, "node:a.py:f")
    generation = client.ask("health")["generation"]
    shared.write("a.py", SOURCE)
    assert context(client, "node:a.py:f") == before
    assert client.ask("health")["generation"] == generation
    shared.write("a.py", SOURCE.rstrip())
    before = client.ask("get_node", node="node:a.py:g")
    shared.write("a.py", SOURCE)
    after = client.ask("get_node", node="node:a.py:g")
    assert before["result"]["source_hash"] == after["result"]["source_hash"]
    assert after["result"]["file_hash"] == sha256(SOURCE.encode()).hexdigest()
    assert after["generation"] > before["generation"]


def test_a_subscriber_hears_of_the_changed_nodes(shared: Hub, client: Client) -> None:
    assert context(client, "node:a.py:g")
    with Client(shared.socket) as other:
        said = other.ask("subscribe", id=1)
        assert said == {"id": 1, "ok": True, "generation": said["generation"], "result": None}
        new = shared.write("a.new", SOURCE.replace("def g(x)", "def g(x, y=1)"))
        new.rename(shared.root / "a.py")
        event = other.read()
        assert event["event"] == "changed"
        assert event["generation"] > said["generation"]
        assert "node:a.py:g" in event["changed"]


@pytest.mark.slow
def test_in_the_foreground_it_says_so_and_ends_well_when_asked(hub: Hub) -> None:
    child = hub.begin("start", "--foreground", "--json")
    assert child.stdout is not None
    wait_until(lambda: hub.status()["running"])
    assert hub.begun()["pid"] == child.pid
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=50)
    assert child.returncode == 0
    assert json.loads(out)["pid"] == child.pid
    assert b"all files have been read" in err
    assert b"Traceback" not in err


@pytest.mark.slow
def test_a_socket_that_was_cleaned_up_is_made_again(shared: Hub, client: Client) -> None:
    shared.socket.unlink()
    wait_until(lambda: list((shared.home / "run" / "remora" / "hub").glob("*.sock")))
    with Client(shared.socket) as other:
        assert other.ask("health")["ok"] is True
    assert client.ask("health")["ok"] is True


@pytest.mark.slow
def test_a_root_that_comes_back_is_followed_again(shared: Hub, client: Client) -> None:
    shared.root.rename(shared.home / "away")
    said = client.ask("get_context", nodes=["node:a.py:f"])
    assert said["ok"] is True
    assert not any(state["fresh"] for state in said["result"].values())
    (shared.home / "away").rename(shared.root)

    def fresh() -> bool:
        state = context(client, "node:a.py:f").get("node:a.py:f", {})
        return bool(state.get("fresh"))

    wait_until(fresh)
    shared.write("a.py", "def f(now): pass\n")
    assert context(client, "node:a.py:f")["node:a.py:f"]["signature"] == "def f(now)"


def test_http_answers_on_the_loopback_for_who_has_the_token(hub: Hub) -> None:
    import httpx2

    status = hub.start(http="0")
    assert status["http"].startswith("http://127.0.0.1:")
    token = Path(status["token_file"])
    assert token.stat().st_mode & 0o777 == 0o600
    with httpx2.Client(base_url=status["http"], trust_env=False, timeout=20) as http:
        assert http.post("/v1/health").status_code == 401
        http.headers["Authorization"] = f"Bearer {token.read_text().strip()}"
        said = http.post("/v1/get_context", json={"nodes": ["node:a.py:f"]}).json()
        assert said["result"]["node:a.py:f"]["fresh"] is True
        assert http.post("/v1/status").json()["result"] == hub.status()
        with http.stream("POST", "/v1/subscribe") as stream:
            lines = stream.iter_lines()
            assert json.loads(next(lines))["result"] is None
            hub.write("b.py", "")
            assert json.loads(next(lines))["event"] == "changed"
            hub.stop()
            assert list(lines) == []
    assert not token.exists()
    assert "ERROR" not in hub.log


def test_a_taken_port_or_a_wrong_configuration_is_reported_before_anything_starts(hub: Hub) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error = hub.refused(http=str(port))
    assert error.exit_code == 3
    assert f"127.0.0.1:{port}" in error.message
    hub.write("remora.yaml", "hub:\n  sweep_second: 3\n")
    error = hub.refused()
    assert error.exit_code == 2
    assert "sweep_second" in error.message


@pytest.mark.slow
def test_nothing_of_a_hostile_tree_is_run_or_imported_or_written(hub: Hub) -> None:
    mark = hub.home / "ran"
    hostile = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("remora.py", "json.py", "sitecustomize.py", "asyncio/__init__.py", "msgspec.py"):
        hub.write(name, hostile)
    hub.write(".venv/bin/python", f"#!/bin/sh\ntouch {mark}\n").chmod(0o755)
    hub.write(".remora/hub.db", "SQLite format 3")
    hub.write(".agentfs/hub.db.addresses", json.dumps({"pid": 1, "root": "/", "socket": "/x"}))
    before = {path: path.read_bytes() for path in hub.root.rglob("*") if path.is_file()}
    entry = Path(sys.executable).with_name("remora")
    done = subprocess.run(
        [entry, "hub", "start", "--json"],
        cwd=hub.root,
        env=hub.environ | {"PYTHONPATH": ""},
        capture_output=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    hub.wait_ready(hub.socket)
    with Client(hub.socket) as client:
        assert context(client, "node:json.py:__module__")
    assert not mark.exists()
    after = {path: path.read_bytes() for path in hub.root.rglob("*") if path.is_file()}
    assert after == before
