"""What the attacks share: where the world outside lies, and what it means to be refused."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

HOME = Path(os.environ["WORLD_HOME"])
BESIDE = Path(os.environ["WORLD_BESIDE"])
PROJECT = Path(os.environ["WORLD_PROJECT"])
SOCKET = os.environ["WORLD_SOCKET"]
ABSTRACT = "\0" + os.environ["WORLD_ABSTRACT"]
PORT = int(os.environ["WORLD_PORT"])
VICTIM = int(os.environ["WORLD_VICTIM"])
PARENT = int(os.environ["WORLD_PARENT"])
MARK = os.environ["REMORA_TEST_MARK"]
SECRET = "world" + "-secret"  # not as it stands outside, so that it is not found in this file

LIBC = ctypes.CDLL(None, use_errno=True)


def refused(attempt: Callable[..., object], *args: object, **options: object) -> None:
    """Fails if the attempt works."""
    try:
        got = attempt(*args, **options)
    except OSError:
        return
    raise AssertionError(f"{attempt} {args} gave {got!r}")


def syscall(number: int, *args: object) -> int:
    """A system call by its number. Raises OSError."""
    return called(LIBC.syscall, ctypes.c_long(number), *args)


def called(function: Callable[..., int], *args: object) -> int:
    """What a function of libc gives. Raises OSError."""
    result = function(*args)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
