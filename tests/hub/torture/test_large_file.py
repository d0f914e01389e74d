"""While one file takes the daemon long, everybody else is answered."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from remora.errors import OutsideError
from remora.hub.process.control import ask as hub
from remora.hub.protocol import Callers, GetContext, Request
from tests.hub.client.conftest import GENEROUS, House, ask
from tests.hub.torture.daemons import hubs
from tests.hub.torture.timeline import percentile

_KEY = "node:large.py:f0"
_FUNCTION = (
    "def f{0}(x: int) -> int:\n"
    '    """Nothing."""\n'
    "    if x > {0}:\n        return f{1}(x - 1)\n"
    "    return x\n\n\n"
)


def generated(size: int) -> str:
    """A module of at least so many bytes, full of calls."""
    lines: list[str] = []
    total = number = 0
    while total < size:
        lines.append(_FUNCTION.format(number, max(0, number - 7)))
        total += len(lines[-1])
        number += 1
    return "".join(lines)


async def _others(house: House, over: asyncio.Event, seconds: list[float], kind: str) -> None:
    client = house.client(deadline=GENEROUS)
    number = 0
    while not over.is_set():
        began = time.monotonic()
        key = f"node:small{number % 20}.py:f"
        if kind == "context":
            found = await client.get_context([key])
            assert key in found  # for its memory's sake the daemon may begin anew: then by another
        else:
            said = await client.callers(key)
            assert said is not None
        seconds.append(time.monotonic() - began)
        number += 1
        await asyncio.sleep(0.01)


def _told(house: House, request: Request) -> Any:
    """The daemon's own answer: no other rung is to read the file here, where we count."""
    try:
        answer = hub(house.places, request, seconds=60.0)
    except OutsideError:  # it begins anew
        return {}
    return msgspec.json.decode(answer.result) if answer.ok else {}


async def _asked(house: House, seconds: list[float], text: str) -> tuple[float, bool]:
    """How long the question about the large file takes, while others ask about small ones."""
    over = asyncio.Event()
    others = [
        asyncio.create_task(_others(house, over, seconds, kind))
        for kind in ("context", "context", "callers", "callers")
    ]
    try:
        await asyncio.sleep(0.2)
        house.write({"large.py": text})
        began = time.monotonic()
        found: Any = {}
        while not (found and found[_KEY]["fresh"]):
            assert time.monotonic() < began + 150, "the large file is never known"
            found = await asyncio.to_thread(_told, house, GetContext(nodes=(_KEY,)))
        took = time.monotonic() - began
        said = await asyncio.to_thread(_told, house, Callers(node=_KEY))
    finally:
        over.set()
        await asyncio.gather(*others)
    return took, bool(said.get("callers"))


def check(size: int) -> float:
    with hubs() as some:
        some.house.write({"remora.yaml": "hub: {max_file_mb: 8}\n"})
        some.house.write({f"small{n}.py": "def f():\n    return 1\n" for n in range(20)})
        some.start()
        client = some.house.client(deadline=GENEROUS)
        assert ask(client, ["node:small0.py:f"]).source == "socket"
        seconds: list[float] = []
        took, called = asyncio.run(_asked(some.house, seconds, generated(size)))
        assert called
        print(  # noqa: T201
            f"\n{size} bytes known after {took:.1f} s; {len(seconds)} others meanwhile: "
            f"p50 {percentile(seconds, 0.5):.0f} ms, p99 {percentile(seconds, 0.99):.0f} ms, "
            f"longest {max(seconds) * 1000:.0f} ms"
        )
        return max(seconds)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_others_wait_at_most_two_seconds_while_five_megabytes_are_read() -> None:
    assert check(5_000_000) < 2.0
