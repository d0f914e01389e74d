"""The paths of a project's Hub, and the address on which it serves HTTP."""

from collections.abc import Callable

from remora.bootstrap.invocation import Invocation
from remora.errors import UsageError
from remora.hub.process.hub_paths import HubPaths, hub_paths

_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}
Progress = Callable[[int, int], None]
"""Called with the number of finished items, such as files that were read, and the total."""


def hub_paths_of(invocation: Invocation) -> HubPaths:
    """Return the paths of the project's Hub. Raises UsageError if the root is invalid."""
    return hub_paths(invocation.folders, invocation.find_root())


def hub_http_address(http: str | None) -> tuple[str, int] | None:
    """Return the address of a daemon that serves HTTP, or None for None.

    Raises UsageError if the address is invalid, and ConfigError if the extra is missing.
    """
    if http is None:
        return None
    from remora.bootstrap.open_trace import require_extra  # imports code that reads streams

    address = http_address(http)
    for module in ("starlette", "uvicorn"):
        require_extra(module, "ui")
    return address


def http_address(value: str) -> tuple[str, int]:
    """Parse an address in the form `[HOST:]PORT`.

    Raises UsageError if the address is invalid or if HOST is not a loopback address.
    """
    host, _, port = value.rpartition(":")
    host = host or "127.0.0.1"
    if host not in _LOOPBACK:
        raise UsageError(
            f"--http {value}: {host} is not a loopback address", hint="use 127.0.0.1 or [::1]"
        )
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--http {value}: expected [HOST:]PORT", hint="use port 0 for a free port")
    return _LOOPBACK[host], int(port)
