"""`remora mcp` as a process that a client starts: only the protocol is on the wire, and it ends."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, write
from tests.mcp.processes import family, is_alive
from tests.mcp.project import FILES

_END_S = 5.0


class Script:
    """A client that writes lines to a server and reads its messages."""

    def __init__(self, project: Path, home: Path, *words: str, program: str = "") -> None:
        command = ["-c", program] if program else ["-m", "remora", "mcp", *words]
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=project,
            env=Remora(home).environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._number = 0

    def send(self, line: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        """Send a request, and return its ID."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(json.dumps(message))
        return self._number

    def call(self, tool: str, **arguments: Any) -> int:
        return self.begin("tools/call", name=tool, arguments=arguments)

    def read(self) -> Any:
        """Return the next message."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def shake_hands(self, version: str = "2025-03-26") -> Any:
        """Begin with a byte order mark, as clients on Windows do."""
        who = {"name": "script", "version": "1"}
        assert self.process.stdin is not None
        self.process.stdin.write(BOM_UTF8)
        self.begin("initialize", protocolVersion=version, capabilities={}, clientInfo=who)
        answer = self.read()
        self.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return answer["result"]

    def close(self) -> tuple[list[Any], str]:
        """Close the input, and return the remaining messages and the server's other output."""
        out, err = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()], err.decode()


@pytest.fixture(scope="module")
def script(project: Path, home: Path) -> Iterator[Script]:
    """One server that stays the same whatever it is sent."""
    script = Script(project, home)
    script.shake_hands()
    yield script
    rest, printed = script.close()
    assert rest == []
    assert "Traceback" not in printed


CALL = b'{"jsonrpc": "2.0", "id": "me", "method": "tools/call", "params": {"name": "runs"}}'
NESTED = b"[" * 100_000 + b"]" * 100_000
LONG = '{"limit": 5' + " " * 60_000 + "}"
TEXTS = [json.dumps(text).encode() for text in ("", '{"limit": "5"}', LONG, json.dumps(LONG))]


@pytest.mark.parametrize(
    ("line", "code", "its"),
    [
        *((around + CALL + around, None, "me") for around in (BOM_UTF8, b"\0", b"\r", b"\n \r\n")),
        *((CALL.replace(b"}}", b', "arguments": %s}}' % text), None, "me") for text in TEXTS),
        (CALL[:-1], -32700, None),
        (CALL + b"]", -32700, "me"),
        *((CALL.replace(b"runs", text), -32700, "me") for text in (b"\xff", b"a\0", rb"\udcff")),
        (CALL.replace(b'"runs"', NESTED), -32700, None),
        (b'[{"id": 5}, {"id": 6}]', -32600, None),
        (b'{}, "id": 5}', -32700, None),
        *((b'{"id": "%s"}' % text, -32700, None) for text in (b"\xff", rb"\ud800")),
        *((CALL.replace(b'"me"', wrong), -32600, None) for wrong in (b"1.5", b"null", b"[1]")),
        (CALL.replace(b"2.0", b"1.0"), -32600, "me"),
        (CALL.replace(b"}}", b', "arguments": "%s"}}' % NESTED), -32602, "me"),
    ],
)
def test_a_request_is_answered_by_its_id_also_if_it_is_damaged(
    script: Script, line: bytes, code: int, its: object
) -> None:
    script.send(line)
    answer = script.read()
    assert (answer["id"], answer.get("error", {}).get("code")) == (its, code)


@pytest.mark.slow
def test_a_cancelled_call_ends_without_an_answer(script: Script) -> None:
    """Calls that run a command wait for each other, but not for one that is cancelled."""
    edit = {"path": "shop/cart.py", "edits": [{"old": "sum(self.prices)", "new": "0"}]}
    cancelled = script.call("verify_edit", **edit)
    time.sleep(0.3)
    note = {"method": "notifications/cancelled", "params": {"requestId": cancelled}}
    script.send(json.dumps({"jsonrpc": "2.0", **note}))
    last = [script.call("verify_edit", **edit) for _ in range(2)]
    quick = script.call("context", name="checkout")
    assert [script.read()["id"] for _ in range(3)] == [quick, *last]


def test_only_the_protocol_reaches_the_wire(project: Path, home: Path) -> None:
    """A handler prints, its child prints, and something prints at exit."""
    program = textwrap.dedent("""
        import atexit, os, subprocess, sys
        import mcp_types as types
        from mcp.server.lowlevel import Server
        from remora.mcp.stdio_transport import serve_stdio

        async def call(_context, _params):
            print("printed by Python")
            os.write(1, b"written to the descriptor\\n")
            subprocess.run(["echo", "printed by a child"], check=True)
            return types.CallToolResult(content=[types.TextContent(text="answer")])

        atexit.register(print, "printed at exit")
        atexit.register(os.write, 1, b"written at exit\\n")
        serve_stdio(Server("test", on_call_tool=call))
    """)
    script = Script(project, home, program=program)
    script.shake_hands()
    script.call("anything")
    assert script.read()["result"]["content"][0]["text"] == "answer"
    rest, printed = script.close()
    assert rest == []
    assert sorted(printed.splitlines()) == [
        "printed at exit",
        "printed by Python",
        "printed by a child",
        "written at exit",
        "written to the descriptor",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True])
def test_no_process_is_left_if_the_client_is_killed(
    tmp_path: Path, home: Path, hangs: bool
) -> None:
    """The client starts a server that runs agents, and is killed while another holds the pipe.

    A run that hangs does not end when it is interrupted.
    """
    slow = "import time\n\n\ndef wait():\n    time.sleep(1)\n    return 1\n"
    root = write(tmp_path, {f"m{n}.py": f"import os\n{slow}" for n in range(40)})
    program = textwrap.dedent(f"""
        import json, os, subprocess, sys, time
        server = subprocess.Popen(
            [{sys.executable!r}, "-m", "remora", "mcp", "--allow-run"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        sleeper = subprocess.Popen(["sleep", "60"], pass_fds=[server.stdin.fileno()])
        def send(**message):
            print(json.dumps({{"jsonrpc": "2.0", **message}}), file=server.stdin, flush=True)
        who = {{"name": "client", "version": "1"}}
        hello = {{"protocolVersion": "2025-06-18", "capabilities": {{}}, "clientInfo": who}}
        send(id=1, method="initialize", params=hello)
        server.stdout.readline()
        send(method="notifications/initialized")
        send(id=2, method="tools/call", params={{"name": "analyze", "arguments": {{}}}})
        print(server.pid, sleeper.pid, flush=True)
        time.sleep(60)
    """)
    client = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=root,
        env=Remora(home).environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    server, sleeper = map(int, client.stdout.readline().split())
    try:
        _wait(lambda: len(family(server)) > 1, 30)
        started = family(server)
        for pid in started - {server} if hangs else ():
            os.kill(pid, signal.SIGSTOP)
        client.kill()
        client.wait()
        began = time.monotonic()
        _wait(lambda: not any(is_alive(pid) for pid in started), 2 * _END_S)
        assert time.monotonic() - began < _END_S
    finally:
        os.kill(sleeper, signal.SIGKILL)
        client.stdout.close()


@pytest.mark.slow
def test_a_read_only_project_without_git_is_answered(tmp_path: Path, home: Path) -> None:
    root = write(tmp_path / "project", FILES)
    root.chmod(0o555)

    script = Script(root, home)
    script.shake_hands()
    script.call("context", name="checkout")
    assert "function checkout" in script.read()["result"]["content"][0]["text"]
    script.close()


def _wait(is_true: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.05)
