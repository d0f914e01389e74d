"""Replacement of the network, the clocks and the machine, on which tests and calls must not depend."""

from __future__ import annotations

import builtins
import contextlib
import datetime
import functools
import importlib
import io
import os
import platform
import socket
import sys
import time
from typing import Any, List

_SHORTEST = 4
_SUBCLASSING = ("freezegun",)
"""Libraries whose classes derive from those of dates, which works with the real ones only."""


def environment_texts(package: str) -> List[str]:
    """Return texts that are different on another machine, or in another version of the package."""
    own = getattr(sys.modules.get(package.partition(".")[0]), "__version__", "")
    texts = [platform.python_version(), platform.release(), platform.node(), sys.executable]
    return [text for text in (*texts, own) if isinstance(text, str) and len(text) >= _SHORTEST]


def block_network() -> None:
    """Block network connections, even if the sandbox allows them."""

    def refuse(*_: object) -> None:
        raise OSError("network access is blocked")

    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, refuse)


def rename_host(name: str) -> None:
    """Replace the name of this machine and the number of its processors, in this process only."""
    real, processors = os.uname(), os.cpu_count() or 1
    os.cpu_count = lambda: 1 if processors > 1 else 2
    renamed = os.uname_result((real.sysname, name, real.release, real.version, real.machine))
    os.uname = lambda: renamed
    socket.gethostname = lambda: name


def open_as_ascii() -> None:
    """Let ASCII be the encoding of text files that are opened without one, also by `pathlib`."""
    real = open

    @functools.wraps(real)
    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: Any = None,
        *rest: Any,
        **more: Any,
    ) -> Any:
        if encoding in (None, "locale") and "b" not in mode:
            encoding = "ascii"
        return real(file, mode, buffering, encoding, *rest, **more)

    builtins.open = io.open = opened


class _Clock:
    """A function that stays one as a class attribute, such as `logging.Formatter.converter`."""

    def __init__(self, read: Any) -> None:
        self._read = read

    def __call__(self, *given: Any) -> Any:
        return self._read(*given)


def shift_clocks(seconds: int) -> None:
    real_time, real_ns = time.time, time.time_ns
    local, utc, text = time.localtime, time.gmtime, time.strftime
    as_text, of_parts = time.ctime, time.asctime
    for name in _SUBCLASSING:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    shifted = {
        "time": lambda: real_time() + seconds,
        "time_ns": lambda: real_ns() + seconds * 10**9,
        "localtime": lambda at=None: local(time.time() if at is None else at),
        "gmtime": lambda at=None: utc(time.time() if at is None else at),
        "strftime": lambda form, at=None: text(form, time.localtime() if at is None else at),
        "ctime": lambda at=None: as_text(time.time() if at is None else at),
        "asctime": lambda at=None: of_parts(time.localtime() if at is None else at),
    }
    for name, clock in shifted.items():
        setattr(time, name, _Clock(clock))
    shift_dates(seconds)


def shift_dates(seconds: int) -> None:
    real_date, real_moment = datetime.date, datetime.datetime
    ahead = datetime.timedelta(seconds=seconds)

    class Kind(type):
        def __instancecheck__(cls, one: object) -> bool:
            # a subclass in the project is itself; the two below stand for what they derive from
            replaced = cls.__mro__[1] if cls in (Date, Moment) else cls
            return type.__instancecheck__(replaced, one)

    class Date(real_date, metaclass=Kind):  # type: ignore[misc, valid-type]
        @classmethod
        def today(cls) -> Any:
            return (real_moment.now() + ahead).date()

    class Moment(real_moment, metaclass=Kind):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_moment.now(tz) + ahead

        @classmethod
        def utcnow(cls) -> Any:
            return real_moment.now(datetime.timezone.utc).replace(tzinfo=None) + ahead

        today = now

    for kind, name in ((Date, "date"), (Moment, "datetime")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
        setattr(datetime, name, kind)
