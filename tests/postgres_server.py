"""A real PostgreSQL server for tests, in a folder of its own, on a Unix socket only."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

MISSING = "PostgreSQL's initdb and postgres are not on PATH"


def find_programs() -> tuple[str, str] | None:
    """Return the paths of `initdb` and `postgres`, or None if one of them is not installed."""
    folders = [*os.get_exec_path(), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    found = [shutil.which(name, path=os.pathsep.join(folders)) for name in ("initdb", "postgres")]
    return (found[0], found[1]) if found[0] and found[1] else None


class PostgresServer:
    """A server that can be killed, stopped and started again. Its data are on disk."""

    def __init__(self, settings: dict[str, str] | None = None, *, parent: str = "/tmp") -> None:
        programs = find_programs()
        assert programs is not None, MISSING
        self._initdb, self._postgres = programs
        self._settings = {
            "listen_addresses": "",
            "fsync": "off",  # processes are killed here, but not the machine
            "full_page_writes": "off",
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "autovacuum": "off",
            "shared_buffers": "8MB",
            "log_min_messages": "fatal",
            **(settings or {}),
        }
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=parent))  # a short path: a socket
        self._process: subprocess.Popen[bytes] | None = None
        self._user: dict[str, Any] = {}
        if os.getuid() == 0:  # the server refuses to run as root
            other = next(
                (user for user in pwd.getpwall() if user.pw_name in ("postgres", "nobody")), None
            )
            assert other is not None
            self._user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self.folder.chmod(0o755)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def dsn(self, database: str = "postgres", role: str = "owner") -> str:
        return f"host={self.folder} dbname={database} user={role}"

    def start(self) -> Self:
        if not self.data.exists():
            subprocess.run(
                [self._initdb, "-D", self.data, "-U", "owner", "-A", "trust", "--no-sync",
                 "-E", "UTF8", "--locale=C"],
                check=True, capture_output=True, cwd=self.folder, **self._user,
            )  # fmt: skip
        settings = [
            part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")
        ]
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [self._postgres, "-D", self.data, "-k", self.folder, *settings],
            stdout=log, stderr=log, cwd=self.folder, **self._user,
        )  # fmt: skip
        log.close()
        self._wait()
        return self

    def kill(self) -> None:
        """Kill the server and all its processes without warning, as a power cut would."""
        assert self._process is not None
        task = Path(f"/proc/{self._process.pid}/task/{self._process.pid}")
        children = (task / "children").read_text()
        for pid in (self._process.pid, *map(int, children.split())):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        for left in ("postmaster.pid", "../.s.PGSQL.5432.lock"):
            (self.data / left).unlink(missing_ok=True)

    def stop(self) -> None:
        """Stop the server, ending all connections."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(20)

    def remove(self) -> None:
        self.stop()
        # many thousand files, which no test waits for
        subprocess.run(["sh", "-c", 'rm -rf "$0" &', self.folder], check=False)

    def new_database(
        self, name: str, template: str = "template1", tablespace: str = "pg_default"
    ) -> str:
        """Create a database, an empty one unless it copies another, and return its connection
        string.
        """
        self.execute(
            f'CREATE DATABASE "{name}" TEMPLATE {template} TABLESPACE {tablespace}'
            " STRATEGY file_copy"  # half the work of writing it to the log
        )
        return self.dsn(name)

    @contextmanager
    def small_tablespace(self, size_mb: int) -> Iterator[Path]:
        """Create the tablespace `small` on a disk of its own, and yield the disk's folder."""
        place = Path(tempfile.mkdtemp(prefix="small-", dir="/tmp"))
        owned = f"size={size_mb}m,uid={self._user['user']},mode=755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", owned, "tmpfs", place], check=True)
        try:
            folder = place / "tables"
            folder.mkdir()
            os.chown(folder, self._user["user"], self._user["group"])
            self.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
            yield place
        finally:
            self.stop()
            subprocess.run(["umount", place], check=True)
            place.rmdir()

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(statement)

    def _wait(self) -> None:
        import psycopg

        assert self._process is not None
        end = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.dsn(), connect_timeout=5).close()
            except psycopg.OperationalError:
                said = (self.folder / "log").read_text()[-2000:]
                assert self._process.poll() is None, said
                assert time.monotonic() < end, said
                time.sleep(0.05)
            else:
                return


def required_server() -> PostgresServer:
    """Start a server, or skip the test and say what is missing."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    if find_programs() is None:
        pytest.skip(MISSING)
    return PostgresServer().start()
