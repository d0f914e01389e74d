"""The commands `hub start`, `hub status` and `hub stop`, and a run with a daemon."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.errors import install_extra
from tests.cli.conftest import Remora, lint_project, write
from tests.hub.daemon.hub_process import is_gone

STATUS = {
    "running": False,
    "pid": None,
    "files": None,
    "nodes": None,
    "generation": None,
    "watcher": "off",
    "last_sweep": None,
    "http": None,
    "token_file": None,
    "protocol": 1,
}


@pytest.fixture
def shop(tmp_path: Path, poor: Remora) -> Iterator[Path]:
    (tmp_path / "shop").mkdir()
    yield write(tmp_path / "shop", {"cart.py": "def total(): return 0\n"})
    for lock in (tmp_path / "home" / "cache").rglob("hub.db.daemon"):
        said = lock.read_text().partition(" ")[0]
        command = Path(f"/proc/{said}/cmdline")
        if command.exists() and str(tmp_path).encode() in command.read_bytes():
            os.kill(int(said), signal.SIGKILL)


def test_without_a_daemon_status_and_stop_say_so_and_that_is_fine(poor: Remora, shop: Path) -> None:
    done = poor("hub", "status", "--json", cwd=shop)
    assert done.code == 0
    document = done.document
    places = {name: document.pop(name) for name in ("root", "db", "socket")}
    assert places["root"] == str(shop)
    assert document == STATUS
    assert "no daemon is running" in poor("hub", "status", cwd=shop).out
    stopped = poor("hub", "stop", cwd=shop)
    assert (stopped.code, stopped.out) == (0, "no daemon was running\n")
    assert poor("hub", "stop", "--json", cwd=shop).document["running"] is False


def test_files_in_the_tree_and_above_the_git_root_are_not_trusted(poor: Remora, shop: Path) -> None:
    write(shop.parent, {"remora.yaml": "nonsense: [\n"})
    (shop / ".git").mkdir()
    said = {"pid": os.getpid(), "root": str(shop), "socket": "/tmp/evil.sock", "notes": ["evil"]}
    for place in (".agentfs/hub.db.addresses", ".remora/hub.db.addresses", "hub.db.daemon"):
        write(shop, {place: json.dumps(said)})
    done = poor("hub", "status", "--json", cwd=shop)
    assert (done.document["root"], done.document["running"]) == (str(shop), False)
    assert "evil" not in done.out + done.err


@pytest.mark.slow
def test_daemon_is_started_joined_and_stopped(poor: Remora, shop: Path) -> None:
    started = poor("hub", "start", cwd=shop)
    assert started.code == 0, started.err
    assert started.out.startswith("the daemon is running (process ")
    joined = poor("hub", "start", "--json", cwd=shop)
    assert joined.code == 0
    pid = joined.document["pid"]
    assert f"process {pid}" in started.out
    assert set(joined.document) == {*STATUS, "root", "db", "socket"}
    in_front = poor("hub", "start", "--foreground", "--json", cwd=shop)
    assert (in_front.code, in_front.document["pid"]) == (0, pid)
    shown = poor("hub", "status", "--root", str(shop), cwd=shop.parent)
    assert "inotify" in shown.out
    assert not is_gone(pid)
    assert poor("hub", "stop", cwd=shop).out == f"stopped (process {pid})\n"
    assert is_gone(pid)
    assert sorted(path.name for path in shop.iterdir()) == ["cart.py"]


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_an_idle_daemon_stops_if_configured(poor: Remora, shop: Path) -> None:
    hurried = Remora(poor.home, {**poor.environ, "REMORA_HUB__IDLE_STOP_MINUTES": "1"})
    pid = hurried("hub", "start", "--json", cwd=shop).document["pid"]
    assert hurried("hub", "callees", "total", cwd=shop).code == 0
    until = time.monotonic() + 150
    while not is_gone(pid):
        assert time.monotonic() < until, "it goes on"
        time.sleep(0.5)
        poor("hub", "status", cwd=shop)  # is no question about nodes
    (log,) = (poor.home / "cache").rglob("hub.db.log")
    assert "no request for 1 min" in log.read_text()
    assert poor("hub", "status", "--json", cwd=shop).document["running"] is False


def test_invalid_options_are_reported(poor: Remora, shop: Path) -> None:
    for words, told in (
        (("--http", "0.0.0.0:80"), "loopback"),
        (("--http", "none"), "PORT"),
        (("--socket", "/" + "s" * 200), "too long"),
    ):
        done = poor("hub", "start", *words, "--json", cwd=shop)
        assert done.code == 2
        assert told in done.error["message"] + done.error["hint"]
    write(shop, {"remora.yaml": "model: {base_url: 'http://203.0.113.5/v1'}\n"})
    assert poor("hub", "start", "--json", cwd=shop).code == 2


def test_a_running_daemon_without_http_is_reported(poor: Remora, shop: Path) -> None:
    try:
        poor("hub", "start", cwd=shop)
        for more in ((), ("--foreground",)):
            done = poor("hub", "start", "--http", "0", "--json", *more, cwd=shop)
            assert (done.code, done.document["http"]) == (0, None)
            assert "without HTTP" in done.err
            assert "`remora hub start --http 0`" in done.err
    finally:
        poor("hub", "stop", cwd=shop)


def test_a_missing_extra_is_named(tmp_path: Path, shop: Path) -> None:
    """A module that cannot be imported stands for the package that is not installed."""
    (tmp_path / "uvicorn.py").write_text("raise ImportError('no uvicorn here')")
    user = Remora(tmp_path / "home", {"PYTHONPATH": str(tmp_path)})
    done = user("hub", "start", "--http", "0", "--json", cwd=shop)
    assert done.code == 2
    assert done.error["message"] == "the extra ui is not installed (no uvicorn here)"
    assert done.error["hint"] == install_extra("ui")


READ = "node:src/settings.py:read"
MORE = {
    "src/app.py": "from src.settings import read\n\n\ndef main():\n    return read('x')\n",
    "tests/test_settings.py": (
        "from src.settings import read\n\n\ndef test_read():\n    assert read('') == ''\n"
    ),
    # exact: facts are waited for, however busy the machine
    "remora.yaml": "model: {exact: true}\n",
}


def test_packets_hold_callers_tests_and_freshness(poor: Remora, tmp_path: Path) -> None:
    root = lint_project(write(tmp_path / "project", MORE))
    user = Remora(poor.home, {**poor.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    assert user("hub", "start", cwd=root).code == 0
    user("hub", "index", cwd=root)  # what a hub has not looked at yet, it is busy with
    try:
        done = user("analyze", "src", "-o", "steps", "--node", "read", "--json", cwd=root)
    finally:
        user("hub", "stop", cwd=root)
    (job,) = done.document["jobs"]
    packet = user("trace", "packet", job["agent_id"], "--turn", "1", cwd=root).document
    facts = packet["hub_context"][READ]
    assert facts["callers"] == ["src/app.py:main", "tests/test_settings.py:test_read"]
    assert facts["tests"] == ["tests/test_settings.py::test_read"]
    assert "fresh" not in facts, "only what is not fresh is marked"
    assert packet["hub_freshness"][READ].startswith("20")
    assert user("trace", "verify", "--all", cwd=root).code == 0, "without the hub"
