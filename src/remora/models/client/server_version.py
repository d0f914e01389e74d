"""Name and version of a server, from its own answers."""

from typing import NamedTuple

from remora.models.client.sync_http import ServerConnection

_ENDPOINTS = (
    ("llama.cpp", "/props", "build_info"),
    ("Ollama", "/api/version", "version"),
    ("vLLM", "/version", "version"),
)
"""Servers with the endpoint and the key of their version. Each has only its own."""
_MAX_CHARS = 80


class ServerVersion(NamedTuple):
    """The name and the version of a server."""

    server: str
    version: str


UNKNOWN = ServerVersion("unknown", "unknown")


def find_version(connection: ServerConnection) -> ServerVersion:
    """Ask the server for its version. Raises ModelError if it cannot be reached."""
    for server, path, key in _ENDPOINTS if connection.address.root is not None else ():
        found = connection.request_once("GET", f"{connection.address.root}{path}")
        version = found.get(key) if isinstance(found, dict) else None
        if isinstance(version, str) and version.isprintable():
            return ServerVersion(server, version[:_MAX_CHARS])
    return UNKNOWN
