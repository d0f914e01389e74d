"""A whole run whose model is served by a process that Remora did not start."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.memory.canonical import canonical_sha256
from remora.memory.packet import DecisionPacket
from remora.models.embedded.weights import FILE
from tests.cli.conftest import Remora, git, tree, write
from tests.independent_server import independent_server

LIMIT_S = 240
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * LIMIT_S)]

SHOP = '''\
"""A small shop."""


def total(prices, discount):
    return sum(prices) * (1 - discount)


def cheapest(prices):
    return min(prices)


def label(name, price):
    return f"{name}: {price:.2f}"
'''


@pytest.fixture(scope="module")
def address(models: Path) -> Iterator[str]:
    with independent_server(models / FILE) as found:
        yield found


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", {"shop.py": SHOP})
    git(root, "init", "-q")
    return root


@pytest.fixture
def user(poor: Remora) -> Remora:
    return replace(poor, environ={"REMORA_RUNNER__DECISIONS": "model"})


def events(user: Remora, root: Path, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = user("trace", "show", agent, "--json", cwd=root).document[
        "events"
    ]
    return found


def check_records(user: Remora, root: Path, jobs: list[dict[str, Any]]) -> None:
    """Every turn with answers has the packet that the model saw, and the streams verify and replay."""
    for job in jobs:
        seen = events(user, root, job["agent_id"])
        asked = {each["turn"] for each in seen if each["type"] == "model_response"}
        assert asked, "the model was asked"
        for turn in asked:
            words = ("trace", "packet", job["agent_id"], "--turn", str(turn))
            shown = msgspec.convert(user(*words, cwd=root).document, DecisionPacket)
            requests = [
                e["data"] for e in seen if (e["type"], e["turn"]) == ("model_request", turn)
            ]
            assert canonical_sha256(shown) == requests[0]["packet_sha256"]
    verified = user("trace", "verify", "--all", cwd=root)
    assert verified.code == 0, verified.out
    replayed = user("trace", "replay", "--all", cwd=root)
    assert replayed.code == 0, replayed.out


def test_an_independent_server_serves_a_whole_run(user: Remora, shop: Path, address: str) -> None:
    before = tree(shop)
    done = user.afresh(
        "analyze", "-o", "docstring", "--model", address, "--json", cwd=shop, limit_s=LIMIT_S
    )
    assert done.code in (0, 1), done.err
    jobs = done.document["jobs"]
    assert len(jobs) == 3
    assert {job["status"] for job in jobs} <= {"verified", "no_change", "failed"}
    assert tree(shop) == before
    check_records(user, shop, jobs)
