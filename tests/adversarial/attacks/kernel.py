"""What only the powerful may ask of the kernel."""

import ctypes
import mmap
import os
import platform
import socket
import struct
from pathlib import Path

import pytest

from tests.adversarial.attacks.inside import HOME, LIBC, PORT, PROJECT, called, refused, syscall


def test_chroot_is_refused() -> None:
    (PROJECT / "cell").mkdir()
    refused(os.chroot, PROJECT / "cell")


def test_chroot_nothing_lies_above_the_root() -> None:
    up = "/".join([".."] * 40)
    assert os.path.samefile(up, "/")
    refused(os.stat, f"{up}{HOME}/.bashrc")


SETUP, ENTER = 425, 426
OPENAT, CONNECT = 18, 16


def do(opcode: int, descriptor: int, address: int, length: int, offset: int) -> int:
    """The result of one operation: negative for an error."""
    parameters = ctypes.create_string_buffer(120)
    ring = syscall(SETUP, ctypes.c_uint(1), parameters)
    fields = struct.unpack_from("<10I", parameters.raw, 0)
    sq = struct.unpack_from("<10I", parameters.raw, 40)
    cq = struct.unpack_from("<10I", parameters.raw, 80)
    size = max(sq[6] + fields[0] * 4, cq[5] + fields[1] * 16)
    with mmap.mmap(ring, size) as rings, mmap.mmap(ring, 64 * fields[0], offset=0x10000000) as ops:
        ops[:64] = struct.pack("<BBHiQQI36x", opcode, 0, 0, descriptor, offset, address, length)
        struct.pack_into("<I", rings, sq[6], 0)
        struct.pack_into("<I", rings, sq[1], 1)
        syscall(ENTER, ctypes.c_int(ring), 1, 1, 1, None, 0)
        result: int = struct.unpack_from("<i", rings, cq[5] + 8)[0]
    os.close(ring)
    return result


def test_io_uring_goes_no_further_than_calls() -> None:
    try:
        os.close(syscall(SETUP, ctypes.c_uint(1), ctypes.create_string_buffer(120)))
    except OSError:
        return  # this kernel has none, or forbids it
    own, path = (
        ctypes.create_string_buffer(b"/dev/null"),
        ctypes.create_string_buffer(os.fsencode(HOME / ".bashrc")),
    )
    opened = do(OPENAT, -100, ctypes.addressof(own), 0, 0)
    assert opened > 2, "the attack itself must work"
    assert do(OPENAT, -100, ctypes.addressof(path), 0, 0) < 0
    name = struct.pack("<H", socket.AF_INET) + struct.pack(">H", PORT) + bytes([127, 0, 0, 1])
    address = ctypes.create_string_buffer(name + bytes(8))
    with socket.socket() as end:
        assert do(CONNECT, end.fileno(), ctypes.addressof(address), 0, 16) < 0


def test_kernel_settings_none_can_be_written() -> None:
    for name in (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sysrq-trigger",
        "/proc/self/setgroups",
        "/proc/self/uid_map",
    ):
        refused(Path(name).write_text, "0")
    for folder in ("/sys/kernel", "/sys/fs/cgroup", "/proc/acpi"):
        assert not Path(folder).exists() or not any(Path(folder).rglob("release_agent"))
    assert not Path("/sys/fs/cgroup").exists()


RDONLY, REMOUNT, BIND, MOVE, REC = 1, 32, 4096, 8192, 16384


def mount(source: str, target: str, kind: str, flags: int) -> int:
    words = [text.encode() for text in (source, target, kind)]
    return called(LIBC.mount, *words, ctypes.c_ulong(flags), None)


def test_mounts_are_refused() -> None:
    for kind in ("tmpfs", "proc", "sysfs", "devtmpfs", "overlay"):
        refused(mount, kind, str(PROJECT), kind, 0)
    for target in ("/", "/usr", "/proc", "/etc/hosts"):
        refused(mount, "none", target, "", REMOUNT | BIND)
        refused(mount, "none", target, "", REMOUNT)
    refused(mount, "/usr", str(PROJECT), "", BIND | REC)
    refused(mount, "/proc", str(PROJECT), "", MOVE)


def test_mounts_unmounting_would_show_what_lies_below() -> None:
    for target in ("/proc", "/tmp", "/dev", str(PROJECT), "/usr", "/"):
        for flags in (0, 2):
            refused(called, LIBC.umount2, target.encode(), flags)


def test_mounts_by_new_calls_are_refused() -> None:
    refused(syscall, 430, b"tmpfs", ctypes.c_uint(0))  # fsopen
    refused(syscall, 428, ctypes.c_int(-100), b"/usr", ctypes.c_uint(1))  # open_tree, a clone
    attributes = (ctypes.c_uint64 * 4)(0, RDONLY, 0, 0)
    refused(syscall, 442, -100, b"/usr", 0x8000, ctypes.byref(attributes), 32)  # mount_setattr
    refused(called, LIBC.pivot_root, b".", b".")
    refused((HOME / ".bashrc").read_text)


NUMBERS = {
    "x86_64": {"bpf": 321, "perf_event_open": 298, "init_module": 175, "settimeofday": 164},
    "aarch64": {"bpf": 280, "perf_event_open": 241, "init_module": 105, "settimeofday": 170},
}


@pytest.mark.skipif(
    platform.machine() not in NUMBERS,
    reason="system call numbers are known for other machines only",
)
def test_privileged_calls_are_refused() -> None:
    numbers = NUMBERS[platform.machine()]
    attributes = ctypes.create_string_buffer(128)
    refused(syscall, numbers["bpf"], 5, attributes, ctypes.c_uint(128))
    refused(syscall, numbers["init_module"], None, 0, b"")
    refused(syscall, numbers["settimeofday"], (ctypes.c_long * 2)(0, 0), None)
    kind_and_size = (1).to_bytes(4, "little") + (128).to_bytes(4, "little")
    tracing = ctypes.create_string_buffer(kind_and_size, 128)
    refused(syscall, numbers["perf_event_open"], tracing, -1, 0, -1, ctypes.c_ulong(0))


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_privileges_nothing_is_held_and_nothing_can_be_gained() -> None:
    held = status()
    assert held["NoNewPrivs"] == "1"
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
        assert int(held[name], 16) == 0, name


def test_privileges_setuid_programs_are_programs() -> None:
    for folder in ("/usr", str(PROJECT), "/tmp", os.environ["TMPDIR"]):
        assert os.statvfs(folder).f_flag & os.ST_NOSUID


def test_privileges_users_cannot_be_changed() -> None:
    refused(os.setuid, os.getuid() + 1)
    refused(os.setgroups, [0])
    refused(socket.sethostname, "mine")
    refused(os.chown, PROJECT / "app.py", os.getuid() + 1, -1)


MOUNTS, USERS, PROCESSES, NETWORK = 0x20000, 0x10000000, 0x20000000, 0x40000000


def test_unshare_no_new_ones() -> None:
    for flags in (USERS, USERS | MOUNTS, USERS | PROCESSES, MOUNTS, PROCESSES, NETWORK):
        refused(called, LIBC.unshare, flags)


def test_unshare_none_of_the_first_process() -> None:
    for name in ("user", "mnt", "net", "pid"):
        for pid in ("1", "self"):
            try:
                opened = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
            except OSError:
                continue
            refused(called, LIBC.setns, ctypes.c_int(opened), 0)
            os.close(opened)
