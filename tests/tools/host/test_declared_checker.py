"""A type checker has a limit of processor time, which a busy machine does not shorten."""

import sys
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.tools.host.declared_type_checker import ProjectChecker


def checker_that_runs(code: str) -> ProjectChecker:
    return ProjectChecker((sys.executable, "-c", code), "mypy 1", True, None, cpu=1)


def test_a_checker_that_computes_for_long_is_ended_and_said_so(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="mypy 1 needs more than 1 s of processor time"):
        checker_that_runs("while True: pass").check(tmp_path, 50)


def test_a_checker_that_waits_for_others_is_not_ended(tmp_path: Path) -> None:
    assert checker_that_runs("import time; time.sleep(1.5)").check(tmp_path, 50) == []
