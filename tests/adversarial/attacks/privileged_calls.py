"""Calls into the kernel that only the powerful may use, and that bugs are often found in."""

import ctypes
import platform

import pytest

from tests.adversarial.attacks.inside import refused, syscall

NUMBERS = {
    "x86_64": {"bpf": 321, "perf_event_open": 298, "init_module": 175, "settimeofday": 164},
    "aarch64": {"bpf": 280, "perf_event_open": 241, "init_module": 105, "settimeofday": 170},
}


@pytest.mark.skipif(
    platform.machine() not in NUMBERS,
    reason="system call numbers are known for other machines only",
)
def test_they_are_refused() -> None:
    numbers = NUMBERS[platform.machine()]
    attributes = ctypes.create_string_buffer(128)
    refused(syscall, numbers["bpf"], 5, attributes, ctypes.c_uint(128))
    refused(syscall, numbers["init_module"], None, 0, b"")
    refused(syscall, numbers["settimeofday"], (ctypes.c_long * 2)(0, 0), None)
    kind_and_size = (1).to_bytes(4, "little") + (128).to_bytes(4, "little")
    tracing = ctypes.create_string_buffer(kind_and_size, 128)
    refused(syscall, numbers["perf_event_open"], tracing, -1, 0, -1, ctypes.c_ulong(0))
