"""Pytest plugin that records the callees of every executed call site of a project.

Loaded as `-p call_sites` with CALL_SITES_ROOT and CALL_SITES_OUT; exact positions need Python 3.11.
With CALL_SITES_COVERAGE set it names coverage's contexts after the tests instead.
"""

import json
import os
import sys
import threading
from collections.abc import Generator, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

Site = tuple[int, int, int]


class Sites:
    """(caller, instruction, callee), codes by identity; callee 0: none of the project's."""

    def __init__(self, root: str) -> None:
        self._prefix = root + os.sep
        self._codes: dict[int, CodeType] = {}
        self._ours: dict[int, bool] = {}
        self._seen: set[Site] = set()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a call; callback of `sys.setprofile`."""
        if event == "call":
            caller = frame.f_back
            callee = id(frame.f_code) if self._is_ours(frame.f_code) else 0
            while callee and caller is not None and not self._is_ours(caller.f_code):
                caller = caller.f_back  # a wrapper that was made elsewhere is still this call
            if caller is not None and self._is_ours(caller.f_code):
                self._seen.add((id(caller.f_code), caller.f_lasti, callee))
        elif event == "c_call" and self._is_ours(frame.f_code):
            self._seen.add((id(frame.f_code), frame.f_lasti, 0))

    def document(self) -> list[list[Any]]:
        """[file, position, callee or null]; a callee is [file, first line, name, flags]."""
        return [
            [self._path(caller), place, self._told(self._codes.get(callee))]
            for number, lasti, callee in self._seen
            if (place := _position(caller := self._codes[number], lasti)) is not None
        ]

    def _is_ours(self, code: CodeType) -> bool:
        known = self._ours.get(id(code))
        if known is None:
            known = code.co_filename.startswith(self._prefix)
            self._ours[id(code)] = known
            self._codes[id(code)] = code  # alive, so that its identity is its own
        return known

    def _path(self, code: CodeType) -> str:
        return code.co_filename.removeprefix(self._prefix)

    def _told(self, code: CodeType | None) -> list[Any] | None:
        if code is None:
            return None
        return [self._path(code), code.co_firstlineno, code.co_name, code.co_flags]


@cache
def _positions(code: CodeType) -> Sequence[tuple[int | None, ...]]:
    return tuple(code.co_positions())


def _position(code: CodeType, lasti: int) -> tuple[int | None, ...] | None:
    position = _positions(code)[lasti // 2]
    return position if position[3] is not None else None


class ByTest:
    """Coverage context that names the running test."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        """Use one context per test."""
        import coverage

        current = coverage.Coverage.current()
        if current is not None:
            current.switch_context(item.nodeid.partition("[")[0])
        yield
        if current is not None:
            current.switch_context("")


def pytest_configure(config: pytest.Config) -> None:
    """Start recording."""
    if os.environ.get("CALL_SITES_COVERAGE"):
        config.pluginmanager.register(ByTest(), "by_test")
        return
    sites = Sites(os.environ["CALL_SITES_ROOT"])
    out = Path(os.environ["CALL_SITES_OUT"])

    class End:
        """Writes the recorded calls."""

        def pytest_unconfigure(self) -> None:
            """Write the recorded calls once."""
            sys.setprofile(None)
            threading.setprofile(None)
            out.write_text(json.dumps(sites.document()), encoding="utf-8")

    config.pluginmanager.register(End(), "call_sites_end")
    threading.setprofile(sites.profile)
    sys.setprofile(sites.profile)
