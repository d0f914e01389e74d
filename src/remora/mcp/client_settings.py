"""Settings with which MCP clients start or reach the server."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remora.bootstrap.invocation import Invocation
from remora.errors import DiskError
from remora.hub.process.addresses import make_token
from remora.runs.project import root_name

PATH = "/mcp"
"""The path of the server's URL."""
_TOOL_TIMEOUT_S = 330
"""Codex gives up after 60 seconds by default, which is too short for a run or a first index."""

AGENTS_MD = """\
## Python code

Before you change a Python function, run `remora hub get NAME`, or call the tool `context` of the MCP server
`remora`. It shows the callers, the callees and the tests that run the function. Each has a tier, which says
how certain it is; a call may be missing. If you do not know the name, run `remora hub search NAME`.

After the change, run `remora hub impact` (tool `impact`): it names the calls that no longer fit and the
tests to run. Before you say that it is done, run `remora judge` (tool `judge_change`), and mend what its
remarks are right about. You cannot accept Remora's changes: ask the user to run `remora review`.
"""
JOBS_MD = """\
## Jobs of Remora

To work for Remora, call `next_job` of the MCP server `remora-jobs`, then the tools that its answer
names, with the job's ID. Call `submit_result` when the job is done, `leave` for an item that should
stay as it is, and `give_up` if you cannot do it. You cannot accept Remora's changes; ask the user to
run `remora review`.
"""
_NAME, _JOBS_NAME = "remora", "remora-jobs"
"""Names of the server without and with `--jobs`, which a client may have side by side."""


class Endpoint(NamedTuple):
    """Access of a client to the server: a command, or a URL and a token."""

    name: str
    """The name of the server."""
    command: Sequence[str]
    url: str = ""
    token: str = ""


class Client(NamedTuple):
    """A client."""

    file: str
    """The file that its settings belong to."""
    settings: Callable[[Endpoint], str]
    """Returns its settings."""


def _json_settings(servers: str, *, typed: bool) -> Callable[[Endpoint], str]:
    def settings(endpoint: Endpoint) -> str:
        entry: dict[str, Any]
        if endpoint.url:
            headers = {"Authorization": f"Bearer {endpoint.token}"}
            entry = {"type": "http", "url": endpoint.url, "headers": headers}
        else:
            command, *words = endpoint.command
            entry = {"type": "stdio", "command": command, "args": words}
        if not typed:
            del entry["type"]
        return json.dumps({servers: {endpoint.name: entry}}, indent=2) + "\n"

    return settings


def _toml_settings(endpoint: Endpoint) -> str:
    """Return a table of TOML, in which strings and lists are written as in JSON."""
    if endpoint.url:
        headers = f'{{ Authorization = "Bearer {endpoint.token}" }}'
        entries = {"url": _json(endpoint.url), "http_headers": headers}
    else:
        command, *words = endpoint.command
        entries = {"command": _json(command), "args": _json(words)}
    entries["tool_timeout_sec"] = str(_TOOL_TIMEOUT_S)
    lines = [f"{name} = {value}\n" for name, value in entries.items()]
    return f"[mcp_servers.{endpoint.name}]\n" + "".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


CLIENTS = {
    "claude": Client(".mcp.json", _json_settings("mcpServers", typed=True)),
    "codex": Client(".codex/config.toml", _toml_settings),
    "cursor": Client(".cursor/mcp.json", _json_settings("mcpServers", typed=False)),
    "vscode": Client(".vscode/mcp.json", _json_settings("servers", typed=True)),
    "agents-md": Client(
        "AGENTS.md", lambda server: JOBS_MD if server.name == _JOBS_NAME else AGENTS_MD
    ),
}
"""Clients by the name of `--print-config`."""


def client_settings(
    client: str,
    invocation: Invocation,
    address: tuple[str, int] | None,
    flags: Sequence[str] = (),
) -> str:
    """Return the settings for a client, for a server on stdio or at an HTTP address.

    `flags` are those of the command that starts the server. Raises DiskError if the token for HTTP cannot be read or created.
    """
    name = _JOBS_NAME if "--jobs" in flags else _NAME
    if address is not None:
        endpoint = Endpoint(name, (), server_url(address), project_token(invocation))
    else:
        words = ["--root", str(invocation.find_root())]
        if invocation.config_file is not None:
            words += ["--config", str(invocation.folder / invocation.config_file)]
        words += ["mcp", *flags]
        endpoint = Endpoint(name, [*_own_command(), *words])
    return CLIENTS[client].settings(endpoint)


def server_url(address: tuple[str, int]) -> str:
    host, port = address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def project_token(invocation: Invocation) -> str:
    """Return the token of a project, which is created on first use and stays the same.

    It is in a private file in the project's state folder, so that clients are configured only once.
    If the file is empty, a new token is created.
    Raises DiskError.
    """
    folder = invocation.folders.state / "roots" / root_name(invocation.find_root())
    path = folder / "mcp.token"
    try:
        token = path.read_text("ascii").strip()
    except FileNotFoundError:
        token = ""
    except (OSError, ValueError) as error:
        raise DiskError(f"{path}: {error}", hint="delete the file to get a new token") from error
    return token or _new_token(path)


def _new_token(path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError(f"{path.parent}: {error.strerror}") from error
    return make_token(path)


def _own_command() -> list[str]:
    """Return the command line of this installation, which clients may not have on their PATH."""
    beside = Path(sys.executable).with_name("remora")
    found = str(beside) if beside.is_file() else shutil.which("remora")
    return [found] if found else [sys.executable, "-P", "-m", "remora"]
