"""No command connects to anything but loopback.

As a program, it runs commands in a network namespace with nothing but loopback, and counts attempts
to leave it: `unshare --map-root-user --net python -m tests.cli.run.test_without_network PROJECT HOME`
prints a JSON list of `[words, exit code, attempts, stderr]`. The first is a control that tries.
"""

import array
import fcntl
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import MODULE, SETTINGS, Remora, new_repository, user_without_weights, write

_SERVERS = (["ui"], ["mcp"])
_SERVES_S = 6
"""Seconds after which a command that serves until it is interrupted is interrupted."""
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
CONTROL = "import socket; socket.socket().connect_ex(('192.0.2.1', 80))"
"""Code that tries to connect to an address that belongs to no machine."""
COMMANDS = (
    "help",
    "doctor",
    "hub start",
    "hub get read",
    "hub status",
    "analyze -o lint -o docstring -o types",
    "analyze -o test",
    "show last",
    "diff last",
    "check",
    "report last --format sarif",
    "accept last --all --untested",
    "revert last",
    "trace list",
    "trace verify --all",
    "trace why {agent}",
    "trace transcript {agent}",
    "trace export {agent} --format html",
    "trace export --run last --format otel",
    "model status",
    "mcp --print-config claude",
    "agents list",
    "config show",
    "ui --port 0",
    "mcp --http 0",
    "hub stop",
    "clean --dry-run",
)


def bring_up_loopback() -> None:
    """Set the flags of `lo`, as `ip link set lo up` does."""
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", _UP_AND_RUNNING)
        fcntl.ioctl(any_socket, _SET_FLAGS, array.array("b", request))


def attempts() -> int:
    """Return how often the kernel of this namespace found no route to an address."""
    names, values = (
        line.split()
        for line in Path("/proc/net/snmp").read_text().splitlines()
        if line.startswith("Ip:")
    )
    return int(values[names.index("OutNoRoutes")])


def run(words: Sequence[str], cwd: Path, user: Remora) -> tuple[str, int, int, str]:
    """Run a command. Return its last words, its exit code, its attempts, and its errors."""
    before = attempts()
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=cwd,
        env=user.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    try:
        _, errors = process.communicate(timeout=_SERVES_S if words[2:3] in _SERVERS else None)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        return " ".join(words[2:]), 0, attempts() - before, errors
    return " ".join(words[2:]), process.returncode, attempts() - before, errors


def main(project: Path, home: Path) -> None:
    """Run all commands and print what became of them."""
    bring_up_loopback()
    user = Remora(home, {"VIRTUAL_ENV": sys.prefix})
    found = [run(["-c", CONTROL], project, user)]
    for command in COMMANDS:
        agents = [path.stem for path in sorted((project / ".agentfs/traces").glob("*.jsonl"))]
        words = command.format(agent=agents[0] if agents else "")
        found.append(run(["-m", "remora", *words.split()], project, user))
    sys.stdout.write(json.dumps(found))


ROOT = Path(__file__).parents[3]
UNSHARE = [shutil.which("unshare") or "", "--map-root-user", "--net"]


def can_unshare() -> bool:
    return bool(UNSHARE[0]) and subprocess.run([*UNSHARE, "true"], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_command_leaves_this_machine(tmp_path: Path) -> None:
    if not can_unshare():
        pytest.skip("needs network namespaces without privileges")
    user = user_without_weights(tmp_path / "home")
    project = write(tmp_path / "project", {"settings.py": MODULE, "pyproject.toml": SETTINGS})
    new_repository(project)
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.cli.run.test_without_network", project, user.home],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    control, *commands = json.loads(done.stdout)
    assert control[2] == 1, "the counter does not count"
    assert len(commands) == len(COMMANDS)
    for words, code, attempts, errors in commands:
        assert attempts == 0, words
        assert code in (0, 1), f"{words}: {errors}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
