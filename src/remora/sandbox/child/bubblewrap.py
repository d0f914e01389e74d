"""Command line for `bwrap`, which grants a command the same file access as level 2."""

import os

from remora.sandbox.child import mount_view, namespaces, syscall_filter, syscalls
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


def bubblewrap_argv(record: CommandRecord) -> list[str]:
    """Return the `bwrap` command line that runs the command."""
    words = [record.bwrap, *_ALWAYS]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for path in PRIVATE_FOLDERS:
        words += ["--size", str(PRIVATE_BYTES), "--tmpfs", path]
    for path, target in record.links.items():
        words += ["--symlink", target, path]
    binds = [("--ro-bind", path) for path in record.read]
    binds += [("--bind", path) for path in (*record.write, *record.scratch)]
    for option, path in sorted(binds, key=lambda bind: bind[1]):
        words += [option, path, path]
    # root can write some files in /proc even without capabilities
    words += ["--remount-ro", "/proc", "--remount-ro", "/"]
    words += ["--seccomp", str(syscall_filter.filter_file())]
    return [*words, "--chdir", record.folder, "--", *record.command]


def mount_scratch_layers(record: CommandRecord) -> None:
    """Mount layers over the scratch folders, in a new mount namespace that `bwrap` inherits."""
    if not record.scratch:
        return
    namespaces.enter_user_namespace(mounts=True)
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    for path in record.scratch:
        lower = os.open(path, os.O_PATH)
        syscalls.mount("tmpfs", path, "tmpfs", 0, f"size={PRIVATE_BYTES},mode=700")
        mount_view.mount_overlay(f"/proc/self/fd/{lower}", path, f"{path}/0")
        os.close(lower)
