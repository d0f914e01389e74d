"""MCP server: a call against the Hub's socket, and tokens of tools and of a task against grep.

The task is the one that agents have most often: which tests cover this function, and who calls it.
With grep, an agent lists the places of the name and reads around each of them, once for the
function and once for each caller, because tests often call a function through others. `windows`
reads 30 lines at each place, `files` all of each file, as the tools of agents do by default.
Tokens are counted with o200k.
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

from hub_daemon import Line, hub

ROUNDS = 300
BARE = """
import mcp_types as types
from mcp.server.lowlevel import Server
from remora.mcp.stdio_transport import serve_stdio

async def call(context, params):
    return types.CallToolResult(content=[types.TextContent(text="x" * int(params.name))])

serve_stdio(Server("bare", on_call_tool=call))
"""
"""A server that answers at once, with as many characters as its tool's name says."""
FUNCTIONS = 30
WINDOW = 15
"""Lines before and after a place that an agent reads."""


class Server:
    """A client of `remora mcp` that writes and reads lines."""

    def __init__(self, words: Sequence[str], environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *words],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        who = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> tuple[float, Any]:
        """Return milliseconds and the result."""
        assert self._process.stdout is not None
        began = time.perf_counter()
        self._send({"id": 1, "method": method, "params": params})
        line = self._process.stdout.readline()
        return (time.perf_counter() - began) * 1000, json.loads(line)["result"]

    def call(self, tool: str, **arguments: Any) -> tuple[float, str]:
        """Return milliseconds and the text of an answer."""
        spent, result = self.ask("tools/call", name=tool, arguments=arguments)
        return spent, result["content"][0]["text"]

    def close(self) -> None:
        self._process.communicate()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def main() -> None:
    """Print all figures."""
    import bpe_openai

    tokens = bpe_openai.get_encoding("o200k_base")

    def count(text: str) -> int:
        return len(tokens.encode(text, disallowed_special=()))

    with served() as (root, socket, server):
        _, listed = server.ask("tools/list")
        tools = [{k: v for k, v in each.items() if k != "_meta"} for each in listed["tools"]]
        definitions = count(json.dumps({"tools": tools}, separators=(",", ":")))
        print(f"definitions of {len(tools)} tools: {definitions} tokens (at most 1,000)")
        chosen = functions(root, socket)
        print_speed(socket, server, chosen)
        print_tokens(root, server, chosen, count)


@contextmanager
def served() -> Iterator[tuple[Path, Line, Server]]:
    """Yield a copy of networkx, a connection to its daemon, and an MCP server."""
    package = Path(sysconfig.get_path("purelib")) / "networkx"
    with tempfile.TemporaryDirectory() as place:
        home, root = Path(place, "home"), Path(place, "project")
        home.mkdir()
        copytree(package, root / "networkx", ignore=ignore_patterns("__pycache__"))
        with hub(home, root) as status:
            environ = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
            server = Server(["-m", "remora", "--root", str(root), "mcp", "--allow-run"], environ)
            yield root, Line(status["socket"]), server
            server.close()


def functions(root: Path, socket: Line) -> list[dict[str, Any]]:
    """Return functions that have callers and tests, chosen by a fixed seed."""
    found: list[dict[str, Any]] = []
    answer = socket.ask(b'{"type":"search","query":".py","limit":10000}\n')[1]
    keys = [
        each["key"]
        for each in json.loads(answer)["result"]["nodes"]
        if each["node_type"] == "function" and "/tests/" not in each["key"]
    ]
    random.Random(16).shuffle(keys)
    for key in keys:
        request = json.dumps({"type": "get_context", "nodes": [key]}).encode() + b"\n"
        (node,) = json.loads(socket.ask(request)[1])["result"].values()
        if node["callers"] and node["related_tests"] and len(node["callers"]) <= 20:
            found.append(node)
        if len(found) == FUNCTIONS:
            return found
    raise SystemExit(f"{root} has only {len(found)} functions with callers and tests")


def print_speed(socket: Line, server: Server, chosen: Sequence[dict[str, Any]]) -> None:
    bare = Server(["-c", BARE], dict(os.environ))
    names = ("socket", "MCP without an answer to find", "MCP by key", "MCP by name", "MCP by place")
    spent: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS // FUNCTIONS):
        for node in chosen:
            key, name = node["key"], node["key"].rpartition(":")[2]
            request = json.dumps({"type": "get_context", "nodes": [key]}).encode() + b"\n"
            spent["socket"].append(socket.ask(request)[0])
            took, answer = server.call("context", name=key)
            spent["MCP by key"].append(took)
            spent["MCP without an answer to find"].append(bare.call(str(len(answer)))[0])
            place = f"{node['file_path']}:{node['line_start']}"
            for way, asked in (("name", name), ("place", place)):
                took, found = server.call("context", name=asked)
                if name.rpartition(".")[2] in found.partition("Calls")[0]:  # not an error
                    spent[f"MCP by {way}"].append(took)
    bare.close()
    p50 = {name: statistics.median(times) for name, times in spent.items()}
    for name, value in p50.items():
        print(f"{name}: p50 {value:.2f} ms, {value / p50['socket']:.1f} times the socket")


def print_tokens(root: Path, server: Server, chosen: Sequence[dict[str, Any]], count: Any) -> None:
    spent: dict[str, list[int]] = {"hub": [], "windows": [], "files": []}
    for node in chosen:
        _, answer = server.call("context", name=node["key"])
        spent["hub"].append(count(json.dumps({"name": node["key"]})) + count(answer))
        for name, texts in grep_reads(root, node).items():
            spent[name].append(sum(map(count, texts)))
    whole = {name: sum(values) for name, values in spent.items()}
    for name, values in spent.items():
        ratio = whole["hub"] / whole[name]
        print(
            f"{name}: {statistics.median(values):,.0f} tokens for a function (median), "
            f"{whole[name]:,} for {len(values)}; hub / {name}: {ratio:.3f}"
        )


def grep_reads(root: Path, node: dict[str, Any]) -> dict[str, list[str]]:
    """Return what an agent reads that has only grep and files: its two ways of reading."""
    names = [node["node_name"], *(each["key"].rpartition(":")[2] for each in node["callers"])]
    windows: list[str] = []
    files: dict[Path, str] = {}
    for name in dict.fromkeys(name.rpartition(".")[2] for name in names):
        listed = subprocess.run(
            ["grep", "-rnw", "--include=*.py", name, "."],
            check=False,
            cwd=root,
            capture_output=True,
            text=True,
        ).stdout
        windows.append(listed)
        for path, lines in places(listed).items():
            text = (root / path).read_text()
            files[path] = text
            windows.append(around(text.splitlines(), lines))
    greps = [text for text in windows if re.match(r"\./\S+:\d+:", text)]
    return {"windows": windows, "files": [*greps, *files.values()]}


def places(listed: str) -> dict[Path, list[int]]:
    """Return the lines that grep found, by file."""
    found: dict[Path, list[int]] = {}
    for line in listed.splitlines():
        path, number, _ = line.split(":", 2)
        found.setdefault(Path(path), []).append(int(number))
    return found


def around(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Return the lines around some lines, each once."""
    wanted = {n for each in numbers for n in range(each - WINDOW, each + WINDOW + 1)}
    return "\n".join(line for number, line in enumerate(lines, 1) if number in wanted)


if __name__ == "__main__":
    main()
