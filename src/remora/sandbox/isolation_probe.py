"""Probe that runs in an isolated process and tries actions that the isolation must prevent.

This file is executed by its path. Its arguments are the level, a writable folder, a scratch folder,
a folder outside the sandbox, a port, and the ID of a process outside the sandbox. The probe fails
if an allowed action does not work. It prints `held` if all forbidden actions failed. Otherwise, it
prints the actions that succeeded.
"""

import os
import sys
from collections.abc import Callable

_NAMESPACES = 2
_AF_VSOCK = 40  # not defined in the socket module on macOS
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
_GET_KEYRING_ID, _USER_KEYRING = 0, -4


def main(words: list[str]) -> None:
    """Try all actions and print the forbidden actions that succeeded, or `held`."""
    level, inside, scratch, outside, port, process = words
    tries: list[tuple[str, Callable[[], object]]] = [
        ("reads other files", lambda: _write_into(f"{outside}/secret", os.O_RDONLY)),
        ("writes other files", lambda: _write_into(f"{outside}/new", os.O_WRONLY | os.O_CREAT)),
        ("truncates other files", lambda: os.truncate(f"{outside}/secret", 0)),
        ("uses kernel keyrings", _find_keyring),
    ]
    if int(level) >= _NAMESPACES:
        tries += [
            ("connects to local ports", lambda: _connect(("127.0.0.1", int(port)))),
            ("connects to Unix sockets", lambda: _connect(f"{outside}/socket")),
            ("connects to abstract sockets", lambda: _connect(f"\0{outside}")),
            ("opens vsock sockets", _make_vsock),
            ("signals other processes", lambda: os.kill(int(process), 0)),
            ("sees other processes", lambda: os.stat(f"/proc/{process}/stat")),
        ]
    could = [name for name, attempt in tries if _succeeds(attempt)]
    _write_into(f"{inside}/a", os.O_WRONLY | os.O_CREAT)
    os.mkdir(f"{inside}/b")
    os.rename(f"{inside}/a", f"{inside}/b/a")
    _write_into(f"{scratch}/seen", os.O_WRONLY | os.O_TRUNC)
    print(", ".join(could) or "held")  # noqa: T201


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _write_into(path: str, flags: int) -> None:
    os.close(os.open(path, flags, 0o600))


def _connect(address: object) -> None:
    import _socket

    family = _socket.AF_UNIX if isinstance(address, str) else _socket.AF_INET
    end = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        end.connect(address)  # type: ignore[arg-type]
    finally:
        end.close()


def _find_keyring() -> None:
    import ctypes

    call = ctypes.CDLL(None).syscall
    if call(_KEYCTL[os.uname().machine], _GET_KEYRING_ID, _USER_KEYRING, 0) < 0:
        raise PermissionError


def _make_vsock() -> None:
    import _socket

    _socket.socket(_AF_VSOCK, _socket.SOCK_STREAM).close()  # never connected


if __name__ == "__main__":
    main(sys.argv[1:])
