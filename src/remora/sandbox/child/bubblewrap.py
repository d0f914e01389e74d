"""bubblewrap: the command line that gives a command the same view through `bwrap`."""

import os

from remora.sandbox.child import mount_view, namespaces, socket_filter, syscalls
from remora.sandbox.child.command_record import PRIVATE_BYTES, PRIVATE_FOLDERS, CommandRecord

_ALWAYS = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)


def bubblewrap_argv(order: CommandRecord) -> list[str]:
    """The command, within bubblewrap."""
    words = [order.bwrap, *_ALWAYS]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for path in PRIVATE_FOLDERS:
        words += ["--size", str(PRIVATE_BYTES), "--tmpfs", path]
    for path, target in order.links.items():
        words += ["--symlink", target, path]
    binds = [("--ro-bind", path) for path in order.read]
    binds += [("--bind", path) for path in (*order.write, *order.scratch)]
    for option, path in sorted(binds, key=lambda bind: bind[1]):
        words += [option, path, path]
    # what the kernel lets root write in /proc, capabilities or not, is nothing for a command
    words += ["--remount-ro", "/proc", "--remount-ro", "/"]
    words += ["--seccomp", str(socket_filter.filter_file())]
    return [*words, "--chdir", order.folder, "--", *order.command]


def mount_scratch_layers(order: CommandRecord) -> None:
    """Put a layer over each scratch folder, for ourselves and what we start: bubblewrap shows what
    we see. Raises OSError."""
    if not order.scratch:
        return
    namespaces.enter_user_namespace(mounts=True)
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    for path in order.scratch:
        below = os.open(path, os.O_PATH)
        syscalls.mount("tmpfs", path, "tmpfs", 0, f"size={PRIVATE_BYTES},mode=700")
        mount_view.mount_overlay(f"/proc/self/fd/{below}", path, f"{path}/0")
        os.close(below)
