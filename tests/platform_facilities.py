"""Tests on systems with less than Linux, for which `REMORA_TEST_POSIX=1` stands in."""

import os

import pytest

from remora.facilities import FACILITIES, POSIX_VARIABLE, is_linux

PASSED_ON = {POSIX_VARIABLE: os.environ[POSIX_VARIABLE]} if POSIX_VARIABLE in os.environ else {}
"""For the environments that tests compose: what they start runs on the same system."""


def need_facility(*names: str) -> None:
    """Skip the test on a system other than Linux. On Linux, what is missing is a failure."""
    for name in names:
        assert name in FACILITIES
        if not is_linux():
            pytest.skip(f"this system has no {name}")
