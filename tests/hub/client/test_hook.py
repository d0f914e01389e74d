"""The hook that gives packets facts of the Hub."""

import asyncio
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from remora.hub import client
from remora.hub.client import refresh_context
from remora.hub.file_limits import FileRules
from remora.memory.context import ContextManager
from tests.hub.client.conftest import CART, GENEROUS, TOTAL, House

SIGNATURE = "def total(prices)"
PROGRAM = """
import asyncio
from remora import ContextManager
from remora.hub import client
from remora.hub.client import refresh_context

client._HOOK_DEADLINE = 30.0

async def main():
    memory = ContextManager({"node_id": "node:shop/price.py:total"})
    print(len(memory.run_middleware([refresh_context])), len(memory.run_middleware([refresh_context])))
    print(memory.packet.hub_context["node:shop/price.py:total"]["signature"])

asyncio.run(main())
"""


def test_facts_enter_once_and_again_after_an_edit(house: House, rung: str) -> None:
    hook = partial(refresh_context, hub=house.raised_to(rung).client())
    memory = ContextManager({"node_id": TOTAL})
    (delta,) = memory.run_middleware([hook])
    shown = memory.packet.hub_context[TOTAL]
    assert shown["signature"] == SIGNATURE
    assert shown.get("tests") == (None if rung == "file" else ["tests/test_price.py::test_total"])
    assert (TOTAL in memory.packet.hub_freshness) == (rung != "file")
    assert memory.run_middleware([hook]) == []
    house.write({"shop/price.py": "def total(prices: list[int]) -> int:\n    return 0\n"})
    memory.run_middleware([hook])
    assert memory.packet.hub_context[TOTAL]["signature"] == "def total(prices: list[int]) -> int"
    assert delta.hub_context == {TOTAL: shown}


def test_nodes_of_recent_actions_are_found_by_a_root_and_in_a_running_loop(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_HOOK_DEADLINE", GENEROUS)

    async def fill() -> ContextManager:
        memory = ContextManager({})
        memory.apply_event(
            {"type": "tool_result", "tool": "read",
             "data": {"args": {"node": CART}, "summary": f"It calls {TOTAL}."}}
        )  # fmt: skip
        for _ in range(2):
            memory.run_middleware([partial(refresh_context, hub=str(house.root))])
        return memory

    packet = asyncio.run(fill()).packet
    assert list(packet.hub_context) == [CART, TOTAL]


def test_the_client_of_a_root_is_closed_when_another_root_is_asked(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_HOOK_DEADLINE", GENEROUS)
    for _ in range(2):
        ContextManager({"node_id": TOTAL}).run_middleware(
            [partial(refresh_context, hub=house.root)]
        )
    (kept,) = client._kept
    assert kept.root == house.root
    ContextManager({"node_id": TOTAL}).run_middleware([partial(refresh_context, hub=tmp_path)])
    assert [other.root for other in client._kept] == [tmp_path.resolve()]
    assert not any(thread.is_alive() for thread in kept._thread._threads)


def test_without_an_answer_facts_are_kept_and_called_old(house: House) -> None:
    closed = house.client()
    hook = partial(refresh_context, hub=closed)
    memory = ContextManager({"node_id": TOTAL})
    memory.run_middleware([hook])
    closed.close()
    memory.run_middleware([hook])
    shown = memory.packet.hub_context[TOTAL]
    assert (shown["signature"], shown["fresh"]) == (SIGNATURE, False)
    assert ContextManager({}).run_middleware([partial(refresh_context, hub=house.client())]) == []


def test_excluded_files_are_left_out_if_the_client_knows_them(house: House) -> None:
    house.raised_to("sqlite")
    house.write({"vendored/v.py": "def f(): ...\n"})
    client = house.client(files=FileRules(exclude=("vendored/",)))
    memory = ContextManager({"node_id": TOTAL, "knowledge": {"other": "node:vendored/v.py:f"}})
    memory.run_middleware([partial(refresh_context, hub=client)])
    assert list(memory.packet.hub_context) == [TOTAL]
    memory.run_middleware([partial(refresh_context, hub=house.client())])
    assert list(memory.packet.hub_context) == [TOTAL, "node:vendored/v.py:f"]


@pytest.mark.parametrize("folder", [".", "shop"])
def test_alone_it_uses_the_project_of_the_current_folder(house: House, folder: str) -> None:
    subprocess.run(["git", "init", "-q", str(house.root)], check=True)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], cwd=Path(house.root, folder),
        env=dict(house.caller.environ), capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"1 0\n{SIGNATURE}\n", "")
