"""Mounting: something new, the same writable, nothing at all; by the old calls and the new."""

import ctypes

from tests.adversarial.attacks.inside import HOME, LIBC, PROJECT, called, refused, syscall

RDONLY, REMOUNT, BIND, MOVE, REC = 1, 32, 4096, 8192, 16384


def mount(source: str, target: str, kind: str, flags: int) -> int:
    words = [text.encode() for text in (source, target, kind)]
    return called(LIBC.mount, *words, ctypes.c_ulong(flags), None)


def test_mount_is_refused() -> None:
    for kind in ("tmpfs", "proc", "sysfs", "devtmpfs", "overlay"):
        refused(mount, kind, str(PROJECT), kind, 0)
    for target in ("/", "/usr", "/proc", "/etc/hosts"):
        refused(mount, "none", target, "", REMOUNT | BIND)
        refused(mount, "none", target, "", REMOUNT)
    refused(mount, "/usr", str(PROJECT), "", BIND | REC)
    refused(mount, "/proc", str(PROJECT), "", MOVE)


def test_unmounting_would_show_what_lies_below() -> None:
    for target in ("/proc", "/tmp", "/dev", str(PROJECT), "/usr", "/"):
        for flags in (0, 2):
            refused(called, LIBC.umount2, target.encode(), flags)


def test_so_are_the_new_calls() -> None:
    refused(syscall, 430, b"tmpfs", ctypes.c_uint(0))  # fsopen
    refused(syscall, 428, ctypes.c_int(-100), b"/usr", ctypes.c_uint(1))  # open_tree, a clone
    attributes = (ctypes.c_uint64 * 4)(0, RDONLY, 0, 0)
    refused(syscall, 442, -100, b"/usr", 0x8000, ctypes.byref(attributes), 32)  # mount_setattr
    refused(called, LIBC.pivot_root, b".", b".")
    refused((HOME / ".bashrc").read_text)
