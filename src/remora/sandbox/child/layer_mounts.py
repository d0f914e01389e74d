"""Layers over a folder that nobody writes, in namespaces of their own, while somebody listens.

Started by `remora.sandbox.layers` with two words: the folder below, and an empty one to mount in.
Each line that comes in is `add NAME` or `drop NAME`, answered by `done` or `failed ERRNO WHAT`. In a
layer, `tree` is what is worked on, and `layer/upper` holds what was changed there. Both are in
memory: with the last line, and so with whoever wrote the lines, all of it is gone.
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
    """Answer once when all is ready, then each line."""
    below, place = words
    if not _done("a user namespace", lambda: _enter(place)):
        return
    for line in sys.stdin:
        order, _, name = line.rstrip("\n").partition(" ")
        home = f"{place}/{name}"
        if order == "add":
            _done("a layer", lambda: _add(below, home))  # noqa: B023 - called at once
        else:
            _done("the end of a layer", lambda: _drop(home))  # noqa: B023


def _done(name: str, step: Callable[[], object]) -> bool:
    try:
        step()
    except OSError as error:
        print(f"failed {error.errno} {name}", flush=True)  # noqa: T201 - read by our caller
        return False
    print("done", flush=True)  # noqa: T201
    return True


def _enter(place: str) -> None:
    os.umask(0o077)
    namespaces.enter_user_namespace(mounts=True)
    syscalls.mount("tmpfs", place, "tmpfs", _SAFE, f"size={_POINTS_BYTES},mode=700")


def _add(below: str, home: str) -> None:
    os.mkdir(home)
    syscalls.mount("tmpfs", home, "tmpfs", _SAFE, f"size={PRIVATE_BYTES},mode=700")
    os.mkdir(f"{home}/tree")
    mount_view.mount_overlay(below, f"{home}/tree", f"{home}/layer")
    syscalls.unmount(f"{home}/layer/lower")  # the layer has a hold of its own on it


def _drop(home: str) -> None:
    syscalls.unmount(home)
    os.rmdir(home)
