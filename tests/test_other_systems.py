"""Remora starts and works on a system that has nothing of what only Linux has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remora.facilities import POSIX_VARIABLE

HIDE = """
import fcntl, os, resource, select, signal, socket, sys
linux = {
    os: "sched_getaffinity sched_setaffinity memfd_create eventfd pidfd_open O_PATH O_TMPFILE getxattr "
        "listxattr fdatasync copy_file_range splice posix_fadvise posix_fallocate setns unshare pipe2",
    signal: "pidfd_send_signal sigtimedwait",
    socket: "AF_NETLINK AF_VSOCK SO_PEERCRED",
    select: "epoll",
    resource: "prlimit",
    fcntl: "F_ADD_SEALS F_OFD_SETLK F_OFD_SETLKW",
}
os.process_cpu_count = os.cpu_count  # asks for the affinity on Linux
for module, names in linux.items():
    for name in filter(module.__dict__.__contains__, names.split()):
        delattr(module, name)
"""
IMPORT = """
import importlib, pkgutil
import remora
os.environ["REMORA_VALUES"] = "."  # a plug-in of pytest needs it
for found in pkgutil.walk_packages(remora.__path__, "remora."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
"""
COMMAND = "from remora.cli.main import main; sys.exit(main())"

pytestmark = pytest.mark.process


def run(code: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, POSIX_VARIABLE: "1", "HOME": str(folder / "home")}
    line = [sys.executable, "-c", HIDE + code, *words]
    return subprocess.run(
        line, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_no_module_needs_linux_to_be_imported(tmp_path: Path) -> None:
    done = run(IMPORT, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_commands_work_without_what_only_linux_has(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import os\n\n\ndef first():\n    return second()\n\n\ndef second():\n    return 1\n"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    checked = run(COMMAND, "check", "-o", "lint", "--allow-unsandboxed", folder=tmp_path)
    assert "a.py:1: lint F401" in checked.stdout, checked.stderr
    callers = run(COMMAND, "hub", "callers", "second", folder=tmp_path)
    assert "a.py:first" in callers.stdout, callers.stderr
