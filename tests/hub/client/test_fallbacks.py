"""A failing source only costs its time: no error and no wrong answer."""

import asyncio
import gc
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from remora.hub.client import DEADLINE, HubClient
from remora.hub.file_limits import FileRules
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.protocol import MAX_BYTES
from remora.usecases.hub.open_hub import HubObserver, open_hub
from remora.usecases.hub.start_daemon import start_hub
from remora.usecases.hub.target import HubTarget
from tests.hub.client.conftest import FILES, GENEROUS, TOTAL, House, ask, run

Say = Callable[[dict[str, Any]], bytes | None]
"""What a false daemon answers to a request; None: it closes the line."""


@asynccontextmanager
async def served(place: Path, say: Say) -> AsyncIterator[None]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                said = say(json.loads(line))
                if said is None:
                    break
                writer.write(said)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    place.parent.mkdir(parents=True, exist_ok=True)
    server = await asyncio.start_unix_server(serve, place)
    try:
        yield
    finally:
        server.close()


def line(asked: dict[str, Any], **told: Any) -> bytes:
    return json.dumps({"id": asked.get("id"), **told}).encode() + b"\n"


def daemon(result: Any = None, *, error: str = "", **told: Any) -> Say:
    """One that answers questions about nodes by `result` or `error`, and types as `told` says."""
    about = {
        "health": {"status": "ok", "protocol": 1},
        "status": {"running": True, "protocol": 1},
        **told,
    }

    def say(asked: dict[str, Any]) -> bytes | None:
        kind = asked["type"]
        if error and kind not in about:
            return line(asked, ok=False, error={"code": error, "message": "no"})
        said = about.get(kind, result)
        is_raw = kind in about and (said is None or isinstance(said, bytes))
        return said if is_raw else line(asked, ok=True, generation=7, result=said)

    return say


FALSE_DAEMONS: dict[str, Say] = {
    "busy": daemon(error="busy"),
    "broken": daemon(error="internal"),
    "of another version": daemon({}, health={"status": "ok", "protocol": 2}),
    "of another kind": daemon({}, health={"status": "ok", "protocol": 0}),
    "of another root": daemon({}, status={"root": "/elsewhere", "protocol": 1}),
    "hangs up": lambda asked: None,
    "silent": lambda asked: b"",
    "hangs up late": daemon(get_context=None),
    "garbage": lambda asked: b"\xff\0{]\n",
    "no object": lambda asked: b"[1]\n",
    "half a line": daemon(get_context=b'{"id": null, "ok": tr'),
    "an answer of another shape": daemon({TOTAL: {"key": TOTAL}}),
    "nodes that are no object": daemon([1, 2]),
    "too much": daemon(health=b"x" * (MAX_BYTES * 80) + b"\n"),
    "deep": daemon(get_context=b"[" * 100_000 + b"\n"),
}


@pytest.mark.parametrize(
    "fault",
    [
        # as late as `silent`
        pytest.param(name, marks=[pytest.mark.slow] * (name == "half a line"))
        for name in FALSE_DAEMONS
    ],
)
def test_a_daemon_that_is_none_of_ours_is_skipped(house: House, fault: str) -> None:
    async def asked() -> Any:
        async with served(house.places.socket, FALSE_DAEMONS[fault]):
            return await house.client(deadline=1.5).get_context([TOTAL])

    found = asyncio.run(asked())
    assert (found.source, list(found)) == ("file", [TOTAL])


def test_a_client_with_a_long_deadline_waits_for_a_busy_daemon(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.hub.client._AGAIN_S", 0.01)
    refused = daemon(error="busy")
    left = [refused] * 3

    def says(asked: dict[str, Any]) -> bytes | None:
        is_question = asked["type"] == "callers"
        say = left.pop() if is_question and left else daemon({"callers": []})
        return say(asked)

    async def asked(deadline: float) -> Any:
        async with served(house.places.socket, says):
            return await house.client(deadline=deadline).callers(TOTAL)

    assert asyncio.run(asked(60.0)) == {"callers": []}
    assert not left
    left.append(refused)
    hurried = asyncio.run(asked(30.0))
    assert (hurried["node"], hurried["callers"]) == (TOTAL, None)


def test_a_daemon_that_gave_up_is_not_asked_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.hub.client._TRIED_LONG_S", 0.0)
    house.index()
    asked_for = []

    def says(asked: dict[str, Any]) -> bytes | None:
        if asked["type"] != "tests":
            return daemon({})(asked)
        asked_for.append(asked)
        return daemon(error="busy")(asked)

    async def asked() -> Any:
        async with served(house.places.socket, says):
            return await house.client(deadline=60.0).tests(TOTAL)

    told = asyncio.run(asked())
    assert (told["tests"], told["fresh"]) == (None, False)
    assert len(asked_for) == 1


def test_one_requests_time_out_does_not_affect_another_request(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.hub.client._TRIED_LONG_S", 0.0)
    monkeypatch.setattr("remora.hub.client._DAEMON_SHARE", 0.01)
    house.index()

    def says(asked: dict[str, Any]) -> bytes | None:
        if asked["type"] == "callers":
            return b""  # and goes on thinking
        return daemon(error="busy")(asked)

    async def asked() -> Any:
        async with served(house.places.socket, says):
            client = house.client(deadline=GENEROUS)
            return await asyncio.gather(client.callers(TOTAL), client.tests(TOTAL))

    callers, tests = asyncio.run(asked())
    assert callers["callers"]
    assert tests["tests"] is None


def dead_socket(places: HubPaths) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(places.socket))


def other_version(places: HubPaths) -> None:
    with closing(sqlite3.connect(places.db)) as made:
        made.execute("CREATE TABLE node_state (key TEXT)")


USELESS: dict[str, Callable[[HubPaths], object]] = {
    "the socket of a dead daemon": dead_socket,
    "a file for a socket": lambda places: places.socket.write_text("no socket"),
    "an empty database": lambda places: places.db.touch(),
    "no database": lambda places: places.db.write_bytes(b"no database"),
    "a head only": lambda places: places.db.write_bytes(b"SQLite format 3\0" + bytes(5000)),
    "a folder for a database": lambda places: places.db.mkdir(),
    "a database of another version": other_version,
}


@pytest.mark.parametrize("plant", USELESS.values(), ids=USELESS)
def test_what_is_no_source_is_skipped(house: House, plant: Callable[[HubPaths], object]) -> None:
    for path in (house.places.socket, house.places.db):
        path.parent.mkdir(parents=True)
    plant(house.places)
    assert ask(house.client(deadline=DEADLINE), [TOTAL]).source == "file"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_users_socket(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked() -> Any:
        async with served(house.places.socket, daemon({})):
            os.chown(house.places.socket, 12345, 12345)
            return await house.client().get_context([TOTAL])

    assert asyncio.run(asked()).source == "file"


def test_a_database_that_is_damaged_while_it_is_read(house: House) -> None:
    client = house.raised_to("sqlite").client()
    assert ask(client, [TOTAL]).source == "sqlite"
    size = house.places.db.stat().st_size
    with house.places.db.open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(size - 100))
    found = ask(client, [TOTAL])
    assert list(found) == [TOTAL]


def test_a_database_that_is_deleted_while_it_is_read(house: House) -> None:
    client = house.raised_to("sqlite").client()
    assert ask(client, [TOTAL]).source == "sqlite"
    house.places.db.unlink()
    assert list(ask(client, [TOTAL])) == [TOTAL]


def test_a_root_that_is_gone(house: House) -> None:
    client = house.raised_to("sqlite").client()
    assert TOTAL in ask(client, [TOTAL])
    house.root.rename(house.folder / "moved")
    assert ask(client, [TOTAL]) == {}
    (house.folder / "moved").rename(house.root)
    assert TOTAL in ask(client, [TOTAL])


@pytest.mark.parametrize("deadline", [0.0, -1.0, 1e-9])
def test_no_time_at_all(house: House, deadline: float) -> None:
    found = ask(house.client(deadline=deadline), [TOTAL])
    assert (found, found.missing) == ({}, {TOTAL: "unanswered"})


def test_a_file_that_would_take_too_long_is_not_begun(house: House) -> None:
    house.write({"shop/price.py": "def total(prices): pass\n" + "x = 1\n" * 900_000})
    found = ask(house.client(deadline=DEADLINE, files=FileRules(limit=1 << 24)), [TOTAL])
    assert (found, found.source, found.missing) == ({}, None, {TOTAL: "unanswered"})


def test_the_answer_says_which_nodes_are_unknown(house: House) -> None:
    others = ["node:shop/price.py:totals", "node:absent.py:f", "total", "node:\ud800.py:f"]
    found = ask(house.client(), [TOTAL, *others])
    assert (list(found), found.missing) == ([TOTAL], dict.fromkeys(others, "unknown"))
    assert ask(house.client(), []).missing == {}


@pytest.mark.parametrize("kilobytes", [36, 120])
def test_the_default_deadline_is_enough_for_a_large_file(house: House, kilobytes: int) -> None:
    lines = "def f(x):\n    return [v.strip() for v in x if v]\n\n\n" * (kilobytes * 20)
    house.write({"shop/price.py": f"def total(prices): pass\n{lines}"})
    assert ask(house.client(deadline=DEADLINE), [TOTAL]).source == "file"


@pytest.mark.slow
def test_an_old_database_of_many_files_leaves_time_for_the_requested_file(house: House) -> None:
    house.write({f"many/m{n}.py": f"def f{n}(): pass\n" for n in range(650)})
    house.raised_to("sqlite")
    house.write({f"many/m{n}.py": f"def g{n}(): pass\n{'x = [1, 2]; ' * 900}" for n in range(650)})
    assert list(ask(house.client(deadline=DEADLINE), [TOTAL])) == [TOTAL]


@pytest.mark.slow
def test_what_is_begun_of_many_changes_is_not_lost(house: House) -> None:
    """Too many for one question: the asked file answers, until all are known."""
    house.raised_to("sqlite")
    lines = "x = [1, 2, 3]\n" * 4000
    house.write({f"many/m{n}.py": f"def f{n}(): pass\n{lines}" for n in range(12)})
    client = house.client(deadline=0.4)
    found = ask(client, [TOTAL])
    assert found.source in ("file", None)
    house.until(lambda: ask(client, [TOTAL]).source == "sqlite")


def test_a_closed_client_or_an_empty_request_gets_nothing(house: House) -> None:
    client = house.client()
    assert TOTAL in ask(client, [TOTAL])
    client.close()
    client.close()
    assert ask(client, [TOTAL]) == {}
    assert ask(house.client(), []) == {}


def test_a_client_serves_one_loop_after_another_and_many_at_once(house: House) -> None:
    client = house.raised_to("sqlite").client()

    async def many() -> list[Any]:
        return await asyncio.gather(*(client.get_context([TOTAL]) for _ in range(32)))

    for _ in range(2):
        assert all(list(found) == [TOTAL] for found in asyncio.run(many()))


def test_a_question_may_be_given_up(house: House) -> None:
    async def given_up() -> None:
        client = house.client()
        async with served(house.places.socket, lambda asked: b""):
            task = asyncio.create_task(client.get_context([TOTAL]))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(given_up())


def test_the_next_question_finds_a_daemon_that_came_and_one_that_went(house: House) -> None:
    client = house.raised_to("sqlite").client()
    assert ask(client, [TOTAL]).source == "sqlite"
    house.raised_to("socket")
    assert ask(client, [TOTAL]).source == "socket"
    control.stop(house.places)
    assert ask(client, [TOTAL]).source == "sqlite"


def test_as_a_library_it_finds_the_users_hub(house: House) -> None:
    house.raised_to("socket")
    assert (
        first_answer_in_a_new_process(house, "deadline=20") == "socket node:shop/cart.py:Cart.sum\n"
    )


def test_a_daemon_with_a_socket_of_its_own_is_found(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = house.folder / "own.sock"
    start_hub(house.caller, HubTarget(socket=place))
    monkeypatch.chdir(house.root)
    with closing(HubClient(socket_path=place, deadline=GENEROUS)) as client:
        assert ask(client, [TOTAL]).source == "socket"
    observer = HubObserver(note=print, progress=lambda: nullcontext(print))
    with open_hub(house.caller, HubTarget(), observer) as hub:
        assert ask(hub.client, [TOTAL]).source == "socket"
    assert json.loads(house.remora("hub", "index", "--json"))["files"] == len(FILES)


@pytest.mark.parametrize(
    ("rung", "found"), [("sqlite", "sqlite node:shop/cart.py:Cart.sum\n"), ("file", "file None\n")]
)
def test_the_first_question_is_answered_without_a_daemon(
    house: House, rung: str, found: str
) -> None:
    """The deadline is for the answer: importing the analysis and a slow git do not count."""
    subprocess.run(["git", "init", "-q", str(house.root)], check=True)
    house.raised_to(rung)
    slow = house.folder / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\nsleep 1\nexec {shutil.which("git")} "$@"\n')
    slow.chmod(0o755)
    path = f"{slow.parent}:{os.environ['PATH']}"
    assert first_answer_in_a_new_process(house, "deadline=0.25", PATH=path) == found


def first_answer_in_a_new_process(house: House, options: str, **variables: str) -> str:
    """The process looks where the user's environment says."""
    program = (
        "import asyncio, sys\n"
        "from remora.hub.client import HubClient\n"
        "async def main():\n"
        f"    async with HubClient(sys.argv[1], {options}) as hub:\n"
        "        found = await hub.get_context([sys.argv[2]])\n"
        "        node = found.get(sys.argv[2])\n"
        "        print(found.source, node and node.callers and node.callers[0].key)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(house.root), TOTAL],
        env={**house.caller.environ, **variables}, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_without_a_home_the_file_is_asked(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    with closing(HubClient(house.root, deadline=GENEROUS)) as client:
        assert ask(client, [TOTAL]).source == "file"


def test_a_client_that_nobody_closed_leaves_nothing_behind(house: House) -> None:
    house.raised_to("sqlite")
    client = HubClient(house.root, places=house.places, deadline=GENEROUS)
    assert run(client.node(TOTAL)) is not None
    del client  # warnings are errors: an open database would be one
    gc.collect()


def test_links_that_would_take_too_long_are_given_up_and_not_kept_by_halves(house: House) -> None:
    """However many calls lead to a node, a thread is not held by them for long."""
    calls = "".join(f"    total([{n}])\n" for n in range(40))
    house.write(
        {
            f"many/m{n}.py": f"from shop.price import total\n\n\ndef f{n}():\n{calls}"
            for n in range(60)
        }
    )
    house.raised_to("sqlite")
    found = ask(house.client(deadline=0.1), [TOTAL])
    assert found.source in ("sqlite", "file", None)
    client = house.client(deadline=GENEROUS)
    for deadline in (1e-3, 5e-3, 2e-2, 0.1, GENEROUS):
        client.deadline = deadline
        found = ask(client, [TOTAL])
    assert found.source == "sqlite"
    assert len(found[TOTAL].callers or ()) == 62
