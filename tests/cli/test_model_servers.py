"""Runs with several model servers, and with limits that processes share."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, write
from tests.load_server import LoadServer, load_servers

FUNCTIONS = "".join(
    f"\n\ndef part_{number}(items, count=1):\n    return items[count:] * {number}\n"
    for number in range(2, 8)
)
FILES = {"parts.py": FUNCTIONS.lstrip(), "pyproject.toml": '[project]\nname = "parts"\n'}
ANALYZE = ("analyze", "-o", "docstring", "--json")


def made_project(folder: Path) -> Path:
    root = write(folder, FILES)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", folder.name)
    return root


@pytest.fixture
def servers() -> Iterator[list[LoadServer]]:
    with load_servers(0.02, 0.02) as found:
        yield found


def names(user: Remora, servers: list[LoadServer], **more: str) -> Remora:
    addresses = json.dumps([server.address for server in servers])
    return replace(user, environ={"REMORA_MODEL__BASE_URL": addresses, **more})


def models(user: Remora, root: Path, run: str) -> list[Any]:
    """Return what each job recorded about its model."""
    jobs = user("show", run, "--json", cwd=root).document["jobs"]
    found = []
    for job in jobs:
        shown = user("trace", "show", job["agent_id"], "--json", cwd=root).document
        found.append(shown["events"][0]["data"]["model"]["base_url"])
    return found


@pytest.mark.slow
def test_a_run_uses_all_servers_and_one_that_dies_costs_nothing(
    poor: Remora, tmp_path: Path, servers: list[LoadServer]
) -> None:
    root = made_project(tmp_path / "parts")
    user = names(poor, servers)
    done = user(*ANALYZE, cwd=root)
    assert done.code == 0, done.err
    assert all(server.chats > 0 for server in servers)
    addresses = [server.address for server in servers]
    assert models(user, root, "last") == [addresses] * len(done.document["jobs"])
    servers[0].stop()
    again = user(*ANALYZE, "--seed", "1", cwd=root)
    assert again.code == 0, again.err
    assert [job["error"] for job in again.document["jobs"]] == [
        job["error"] for job in done.document["jobs"]
    ]


@pytest.mark.slow
def test_a_run_is_resumed_with_other_addresses(
    poor: Remora, tmp_path: Path, servers: list[LoadServer]
) -> None:
    root = made_project(tmp_path / "parts")
    servers[0].delay_s = servers[1].delay_s = 0.5
    user = names(poor, servers)
    process = user.start(*ANALYZE, cwd=root)
    while not servers[0].chats:
        assert process.poll() is None
    process.kill()
    process.communicate()
    refused = poor("analyze", "--resume", "last", cwd=root)
    assert refused.code == 2
    assert f"at {servers[0].address}" in refused.err
    assert f"pass `--model {servers[0].address}`" in refused.err
    servers[1].delay_s = 0.02
    done = poor("analyze", "--resume", "last", "--model", servers[1].address, cwd=root)
    assert done.code == 0, done.err


def test_servers_with_different_models_are_refused_before_a_run(
    poor: Remora, tmp_path: Path, servers: list[LoadServer]
) -> None:
    root = made_project(tmp_path / "parts")
    servers[1].model = "other"
    done = names(poor, servers)(*ANALYZE, cwd=root)
    assert done.code == 3
    assert f"{servers[1].address} has the model other, not m" in done.err
    assert not (root / ".agentfs" / "runs").exists()


@pytest.mark.slow
def test_two_runs_of_different_projects_share_the_limit_of_a_server(
    poor: Remora, tmp_path: Path, dsn: str
) -> None:
    roots = [made_project(tmp_path / name) for name in ("one", "two")]
    settings = {
        "REMORA_RUNNER__MEMORY__TRACE_STORE": "postgres",
        "REMORA_POSTGRES__DSN": dsn,
        "REMORA_MODEL__TIMEOUT_S": "1",
    }
    with load_servers(0.2) as (server,):
        user = names(poor, [server], **settings)
        init = user("database", "init", cwd=roots[0])
        assert init.code == 0, init.err
        running = [user.start(*ANALYZE, cwd=root) for root in roots]
        ends = [process.communicate(timeout=50) for process in running]
    assert [process.returncode for process in running] == [0, 0], ends
    assert server.chats >= 12
    assert server.most == 2
