"""Targets of attacks around a project, and checks that none was reached."""

import contextlib
import ctypes
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from remora.sandbox.confinement import Confinement
from remora.sandbox.interpreters import interpreter_paths
from remora.sandbox.process import run_command
from remora.sandbox.supervisor_client import Command
from tests.isolation_levels import MARK, survivors

ATTACKS = Path(__file__).with_name("attacks")
_SECRET = "world-secret"
_INSIDE = "tests/adversarial/attacks"
_KEYS = {"x86_64": (248, 250), "aarch64": (217, 219), "riscv64": (217, 219)}
_SESSION, _UNLINK = -3, 9
_SHARED_KEY = 0x52454D
_CREATE, _REMOVE = 0o1600, 0
_EVERYBODYS = ("/tmp", "/var/tmp", "/dev/shm", "/run")


class World:
    """Files, listeners and processes outside, and a project whose tests attack them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.torn_bytes, self.project = (
            folder / name for name in ("home", "beside", "project")
        )
        self.mark = uuid.uuid4().hex
        self._files()
        self.listeners = dict(self._listen())
        os.mkfifo(self.project / "in.pipe")
        self.pipe = os.open(self.project / "in.pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.victim = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
        self.key, self.shared = self._key(), self._segment()
        self.before = self.state()

    def _files(self) -> None:
        for path, text in {
            self.home / ".ssh" / "id": _SECRET,
            self.home / ".bashrc": "true\n",
            self.home / ".config" / "settings": "x",
            self.torn_bytes / ".git" / "config": "[core]\n",
            self.torn_bytes / "app.py": "x = 1\n",
            self.folder / "runtime" / "file": "x",
            self.project / "app.py": "y = 2\n",
            self.project / ".git" / "config": "[core]\n",
            self.project / "data" / "rows": "1 2 3",
            self.torn_bytes / "twin": "twin",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.project / "to_file").symlink_to(self.home / ".bashrc")
        (self.project / "to_folder").symlink_to(self.home)
        (self.project / "relative").symlink_to("../home")
        (self.project / "twin").hardlink_to(self.torn_bytes / "twin")
        inside = self.project / _INSIDE
        inside.mkdir(parents=True)
        shutil.copy(ATTACKS / "inside.py", inside)

    def _listen(self) -> Iterator[tuple[str, socket.socket]]:
        for name, address in {
            "hub": str(self.folder / "runtime" / "hub.sock"),
            "in the project": str(self.project / "in.sock"),
            "abstract": f"\0{self.mark}",
        }.items():
            end = socket.socket(socket.AF_UNIX)
            with chdir(self.folder):  # a socket's path is at most 108 bytes long
                end.bind(address.replace(f"{self.folder}/", ""))
            end.listen()
            yield name, end
        tcp = socket.create_server(("127.0.0.1", 0))
        yield "tcp", tcp
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", tcp.getsockname()[1]))
        yield "udp", udp

    def _key(self) -> int:
        secret = _SECRET.encode()
        add, _ = _KEYS[platform.machine()]
        libc = ctypes.CDLL(None)
        key: int = libc.syscall(add, b"user", self.mark.encode(), secret, len(secret), _SESSION)
        return key

    @staticmethod
    def _segment() -> int:
        segment: int = ctypes.CDLL(None).shmget(_SHARED_KEY, ctypes.c_size_t(4096), _CREATE)
        assert segment >= 0
        return segment

    def state(self) -> dict[str, object]:
        """Everything outside that an attack could have changed."""
        seen: dict[str, object] = {
            str(path): _file(path) for path in sorted(self.folder.rglob("*"))
        }
        seen["mounts"] = Path("/proc/self/mountinfo").read_text()
        seen["host name"] = os.uname().nodename
        for name in ("core_pattern", "pid_max"):
            seen[name] = Path("/proc/sys/kernel", name).read_text()
        return seen

    def attack(self, *names: str, level: int) -> tuple[int, str]:
        """Run attacks with pytest as gates run it; its code and what it printed."""
        project = self.project
        targets = [f"{_INSIDE}/{target}" for name in names for target in _tests_of(name)]
        for path in ATTACKS.glob("*.py"):
            shutil.copy(path, project / _INSIDE / f"test_{path.name}")
        self.before = self.state()
        words = ["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--import-mode=importlib"]
        command = Command(
            argv=(sys.executable, *words, *targets),
            folder=project,
            seconds=50.0,
            confinement=Confinement(
                read=interpreter_paths(Path(sys.executable), trusted=True), scratch=(project,)
            ),
            environment={**self._told(), "WORLD_PROJECT": str(project)},
        )
        ran = run_command(command, level=level)
        return ran.returncode, ran.stdout.decode(errors="replace")

    def _told(self) -> dict[str, str]:
        return {
            MARK: self.mark,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "WORLD_HOME": str(self.home),
            "WORLD_BESIDE": str(self.torn_bytes),
            "WORLD_SOCKET": str(self.folder / "runtime" / "hub.sock"),
            "WORLD_ABSTRACT": self.mark,
            "WORLD_PORT": str(self.listeners["tcp"].getsockname()[1]),
            "WORLD_VICTIM": str(self.victim.pid),
            "WORLD_PARENT": str(os.getpid()),
            "WORLD_KEY": str(self.key),
            "WORLD_SHARED": str(_SHARED_KEY),
        }

    def check(self) -> None:
        """Fails where anything outside is not as it was."""
        assert survivors(self.mark) == [], "processes outlived the run"
        assert self.victim.poll() is None, "another process was killed"
        status = Path(f"/proc/{self.victim.pid}/stat").read_text().rpartition(")")[2].split()
        assert status[0] == "S", "another process was stopped"
        for name, end in self.listeners.items():
            end.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                got = end.recv(100) if name == "udp" else end.accept()
                raise AssertionError(f"{name} was reached: {got!r}")
        for folder in _EVERYBODYS:
            assert not Path(folder, self.mark).exists(), f"something was left in {folder}"
        assert self.state() == self.before

    def close(self) -> None:
        """End what was begun."""
        for end in self.listeners.values():
            end.close()
        os.close(self.pipe)
        self.victim.send_signal(signal.SIGCONT)
        self.victim.kill()
        self.victim.wait()
        for folder in _EVERYBODYS:
            Path(folder, self.mark).unlink(missing_ok=True)
        libc = ctypes.CDLL(None)
        libc.shmctl(self.shared, _REMOVE, None)
        libc.syscall(_KEYS[platform.machine()][1], _UNLINK, self.key, _SESSION)


def _tests_of(attack: str) -> list[str]:
    """A file of attacks, or the tests of one attack in such a file."""
    if (ATTACKS / f"{attack}.py").exists():
        return [f"test_{attack}.py"]
    start = re.compile(rf"^def (test_{attack}_\w+)", re.MULTILINE)
    return [
        f"test_{path.name}::{found}"
        for path in ATTACKS.glob("*.py")
        for found in start.findall(path.read_text())
    ]


@contextlib.contextmanager
def chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _file(path: Path) -> tuple[object, ...]:
    stat = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    return stat.st_mode, stat.st_uid, stat.st_nlink, stat.st_mtime_ns, stat.st_ino, content
