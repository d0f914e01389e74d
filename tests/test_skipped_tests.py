"""What `make test-all` and `make quick` refuse: missing programs, and processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remora.facilities import POSIX_VARIABLE
from tests.platform_facilities import need_facility

ROOT = Path(__file__).parents[1]
MODULE = "import pytest\n\npytest.importorskip('no_such_package', reason='not installed')\n"
TEST = "import pytest\n\n\ndef test_it() -> None:\n    pytest.skip('not installed')\n"


@pytest.mark.parametrize("text", [MODULE, TEST], ids=["module", "test"])
@pytest.mark.parametrize(
    ("all_tests", "said"), [("", "1 skipped"), ("1", "skipped: not installed")]
)
def test_what_is_missing(text: str, all_tests: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir", tmp_path, tmp_path],
        cwd=ROOT,
        env={**os.environ, "TEST_ALL": all_tests},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in done.stdout, done.stdout
    assert ("1 skipped" in done.stdout) is (not all_tests)


@pytest.mark.parametrize(
    ("other_system", "said"), [("", "1 passed"), ("1", "this system has no inotify")]
)
def test_what_another_system_lacks_is_named(other_system: str, said: str, tmp_path: Path) -> None:
    if not other_system:
        need_facility("inotify")
    text = "import pytest\n\n\n@pytest.mark.needs('inotify')\ndef test_it() -> None:\n    pass\n"
    (tmp_path / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir", tmp_path, tmp_path],
        cwd=ROOT,
        env={**os.environ, "TEST_ALL": "", POSIX_VARIABLE: other_system},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in done.stdout, done.stdout
    assert ("1 skipped" in done.stdout) is bool(other_system)


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])",
        "import os; os.fork() or os._exit(0)",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
    ],
)
def test_a_process_or_a_connection_in_a_quick_test_fails_it(line: str, tmp_path: Path) -> None:
    text = f"def test_pure() -> None:\n    pass\n\n\ndef test_it() -> None:\n    {line}\n"
    (tmp_path / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--quick", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "`make quick` runs no test with" in done.stdout, done.stdout
    assert "1 failed, 1 passed" in done.stdout
