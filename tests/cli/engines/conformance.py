"""Conformance suite for engines: whole runs with real processes and a real database.

An engine adds how its workers are started, and inherits the tests.
"""

import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.cli.engines.company import SLOW, Company

LINT = ("analyze", "-o", "lint", "--yes", "--seed", "1")
BEGUN = """
SELECT 1 FROM streams WHERE turn > 0 AND owner IS NOT NULL AND NOT closed AND operation = 'lint'
"""
SECOND_RUN = """
SELECT 1 FROM streams WHERE closed AND run_id = (SELECT max(run_id) FROM streams)
    AND (SELECT count(DISTINCT run_id) FROM streams) = 2
"""
"""Finds an ended job of the run after the one at home."""


SERVER = "https://git.example/origin.git"


def publish(company: Company, origin: Path) -> None:
    """Name a server as the project's `origin`, which git finds at a path of this machine."""
    home = company.project.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "file://{origin}"]\n\tinsteadOf = {SERVER}\n')
    company.environ["HOME"] = str(home)
    company.git("remote", "add", "origin", SERVER)
    company.git("fetch", "-q", "origin")


def check_changes(company: Company, at_home: dict[str, str]) -> None:
    """The newest run has the change sets of the run at home, and all streams are sound."""
    assert company.change_sets("last") == at_home
    company.check_streams()


class EngineConformance:
    """Subclass it as `Test…`, and set `engine`."""

    engine: str

    def start_worker(
        self, company: Company, patch: str = "", dsn: str = ""
    ) -> "subprocess.Popen[bytes] | None":
        """Start a worker, or return None if the driver runs the jobs itself."""
        raise NotImplementedError

    @pytest.fixture
    def company(self, tmp_path: Path, dsn: str) -> Iterator[Company]:
        with ExitStack() as stack:
            yield Company(tmp_path, dsn, stack)

    @pytest.fixture
    def at_home(self, company: Company) -> dict[str, str]:
        """The change sets of a run without workers."""
        return company.change_sets(company.remora(*LINT)["run_id"])

    @property
    def command(self) -> tuple[str, ...]:
        return (*LINT, "--engine", self.engine)

    @pytest.mark.slow
    def test_the_changes_are_those_of_a_run_at_home(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        progress = company.progress
        role = f"worker_{secrets.token_hex(4)}"
        with psycopg.connect(company.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {role} LOGIN")
        company.remora("database", "init", "--worker", role)
        self.start_worker(company, dsn=company.dsn.replace("user=owner", f"user={role}"))
        company.remora(*self.command)
        assert progress
        assert company.progress == progress
        check_changes(company, at_home)

    @pytest.mark.slow
    def test_a_killed_driver_is_resumed_without_repeating_finished_jobs(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        self.start_worker(company, SLOW)
        driver = company.start(*self.command, patch=SLOW)
        company.wait_for(SECOND_RUN)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        before = dict(company.rows("SELECT name, next_seq FROM streams WHERE closed"))
        company.remora("analyze", "--resume", "last", "--engine", self.engine)
        check_changes(company, at_home)
        after = dict(company.rows("SELECT name, next_seq FROM streams"))
        assert before.items() <= after.items()

    @pytest.mark.slow
    def test_a_second_driver_is_refused_by_name(self, company: Company) -> None:
        self.start_worker(company, SLOW)
        driver = company.start(*self.command, patch=SLOW)
        company.wait_for("SELECT 1 FROM streams WHERE closed")
        again = ("analyze", "--resume", "last", "--engine", self.engine)
        refused = company.remora(*again, code=3)
        assert f"process {driver.pid} on" in refused["error"]["message"]
        assert driver.wait(60) == 0

    @pytest.mark.slow
    def test_an_interrupted_run_can_be_resumed(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        self.start_worker(company, SLOW)
        driver = company.start(*self.command, patch=SLOW)
        company.wait_for(SECOND_RUN)
        driver.send_signal(signal.SIGINT)
        code = driver.wait(60)
        assert code in {130, -signal.SIGINT}, company.log
        time.sleep(3)  # a worker learns within a second that its shard was cancelled
        assert not company.rows(BEGUN)
        company.remora("analyze", "--resume", "last", "--engine", self.engine)
        check_changes(company, at_home)
