"""Process that mounts overlayfs layers over a read-only folder, in new namespaces.

Its arguments are the lower folder, and an empty folder in which to mount layers. Each input line is
`add NAME` or `drop NAME`. The answer to each line is `done` or `failed ERRNO WHAT`. In a layer,
`tree` is the merged view and `layer/upper` contains the changes. Layers are kept in memory and are
discarded at the end of the input.
"""

from __future__ import annotations

import os
import sys

from remora.sandbox.child import mount_view, namespaces, syscalls
from remora.sandbox.child.command_record import PRIVATE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SAFE = syscalls.MS_NOSUID | syscalls.MS_NODEV
_POINTS_BYTES = 1 << 20


def main(words: list[str]) -> None:
    """Report whether the process is ready, then answer each input line."""
    lower, place = words
    if not _done("create a user namespace", lambda: _enter(place)):
        return
    for line in sys.stdin:
        action, _, name = line.rstrip("\n").partition(" ")
        home = f"{place}/{name}"
        if action == "add":
            _done("mount a layer", lambda: _add(lower, home))  # noqa: B023 - called at once
        else:
            _done("unmount a layer", lambda: _drop(home))  # noqa: B023


def _done(name: str, step: Callable[[], object]) -> bool:
    try:
        step()
    except OSError as error:
        print(f"failed {error.errno} {name}", flush=True)  # noqa: T201 - read by the parent process
        return False
    print("done", flush=True)  # noqa: T201
    return True


def _enter(place: str) -> None:
    os.umask(0o077)
    namespaces.enter_user_namespace(mounts=True)
    syscalls.mount("tmpfs", place, "tmpfs", _SAFE, f"size={_POINTS_BYTES},mode=700")


def _add(lower: str, home: str) -> None:
    os.mkdir(home)
    syscalls.mount("tmpfs", home, "tmpfs", _SAFE, f"size={PRIVATE_BYTES},mode=700")
    os.mkdir(f"{home}/tree")
    mount_view.mount_overlay(lower, f"{home}/tree", f"{home}/layer")
    syscalls.unmount(f"{home}/layer/lower")  # the layer keeps its own reference


def _drop(home: str) -> None:
    syscalls.unmount(home)
    os.rmdir(home)
