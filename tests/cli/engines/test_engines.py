"""The queue: whole runs with real processes and a real database."""

import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.cli.engines.company import (
    BEGUN,
    DEADLY,
    DISTANT,
    LINT,
    OUTDATED,
    SECOND_RUN,
    SLOW,
    UNREPORTED,
    Company,
)
from tests.postgres_server import required_server

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


class TestQueue:
    command = (*LINT, "--engine", "queue")

    @pytest.fixture(autouse=True)
    def _extra(self) -> None:
        pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")

    def start_worker(
        self, company: Company, patch: str = "", dsn: str = ""
    ) -> "subprocess.Popen[bytes]":
        return company.start("worker", patch=patch, dsn=dsn)

    @pytest.fixture
    def company(self, tmp_path: Path, dsn: str) -> Iterator[Company]:
        with ExitStack() as stack:
            yield Company(tmp_path, dsn, stack)

    @pytest.fixture
    def at_home(self, company: Company) -> dict[str, str]:
        """The change sets of a run without workers."""
        return company.change_sets(company.remora(*LINT)["run_id"])

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
        company.remora("analyze", "--resume", "last", "--engine", "queue")
        check_changes(company, at_home)
        after = dict(company.rows("SELECT name, next_seq FROM streams"))
        assert before.items() <= after.items()

    @pytest.mark.slow
    def test_a_second_driver_is_refused_by_name(self, company: Company) -> None:
        self.start_worker(company, SLOW)
        driver = company.start(*self.command, patch=SLOW)
        company.wait_for("SELECT 1 FROM streams WHERE closed")
        again = ("analyze", "--resume", "last", "--engine", "queue")
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
        company.remora("analyze", "--resume", "last", "--engine", "queue")
        check_changes(company, at_home)

    @pytest.mark.slow
    @pytest.mark.timeout(200)
    def test_a_worker_runs_the_agent_that_replaces_a_built_in_one(self, company: Company) -> None:
        company.environ["REMORA_AGENTS__REPLACE"] = "[lint]"
        company.remora("agents", "new", "lint")
        code = "def price(order):\n    # total = order.total()\n    return order.total()\n"
        (company.project / "price.py").write_text(code)
        self.start_worker(company)
        run = company.remora("analyze", "price.py", "-o", "lint", "--engine", "queue")
        assert [job["status"] for job in run["jobs"]] == ["verified"]
        tools = company.remora("trace", "transcript", run["jobs"][0]["agent_id"])
        assert "remove_comments" in str(tools)
        company.check_streams()

    @pytest.mark.slow
    @pytest.mark.timeout(200)
    def test_a_driver_ends_although_the_report_of_a_worker_is_lost(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        self.start_worker(company, UNREPORTED)
        company.remora(*self.command)
        check_changes(company, at_home)

    @pytest.mark.slow
    @pytest.mark.timeout(200)
    def test_a_worker_goes_on_after_its_replacement_has_started(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        stopped = self.start_worker(company)
        company.wait_for("SELECT 1 FROM procrastinate_workers")
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(4)  # longer than its lease
        replacement = self.start_worker(company)
        company.wait_for("SELECT 1 FROM procrastinate_workers OFFSET 1")
        replacement.send_signal(signal.SIGTERM)
        replacement.wait(20)
        stopped.send_signal(signal.SIGCONT)
        company.remora(*self.command)
        check_changes(company, at_home)

    @pytest.mark.slow
    @pytest.mark.timeout(200)
    def test_the_driver_says_why_workers_failed(self, company: Company) -> None:
        origin = company.project.parent / "origin.git"
        company.git("clone", "-q", "--bare", ".", str(origin))
        publish(company, origin)
        shutil.rmtree(origin)
        worker = self.start_worker(company, DISTANT)
        message = company.remora(*self.command, code=3)["error"]["message"]
        assert message.startswith("6 jobs did not end: shard 0 failed 4 times, at last on ")
        assert f"the repository {SERVER} cannot be fetched" in message
        assert worker.poll() is None

    @pytest.mark.slow
    @pytest.mark.timeout(200)
    def test_a_worker_survives_a_server_that_is_away(self, tmp_path: Path) -> None:
        server = required_server()
        with ExitStack() as stack:
            stack.callback(server.remove)
            company = Company(tmp_path, server.new_database("company"), stack)
            worker = self.start_worker(company)
            company.wait_for("SELECT 1 FROM procrastinate_workers")
            server.kill()
            time.sleep(15)
            server.start()
            company.remora(*self.command)
            assert worker.poll() is None
            company.check_streams()

    @pytest.mark.slow
    @pytest.mark.parametrize("is_published", [True, False], ids=["url", "bundle"])
    def test_another_machine_fetches_the_repository(
        self, company: Company, at_home: dict[str, str], *, is_published: bool
    ) -> None:
        if is_published:
            origin = company.project.parent / "origin.git"
            company.git("clone", "-q", "--bare", ".", str(origin))
            publish(company, origin)
        hidden = company.project / "src" / "shop" / "not_committed.py"
        hidden.write_text("import os\n")  # uncommitted files come by hash
        self.start_worker(company, DISTANT)
        done = company.remora(*self.command)
        assert set(company.change_sets(done["run_id"]).items()) > set(at_home.items())
        company.check_streams()

    @pytest.mark.slow
    def test_a_worker_of_another_version_takes_no_shard_from_others(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        wrong = self.start_worker(company, OUTDATED)
        driver = company.start(*self.command)
        assert wrong.wait(60) == 2
        assert "another version of Remora" in company.log
        self.start_worker(company)
        assert driver.wait(60) == 0
        check_changes(company, at_home)

    @pytest.mark.slow
    def test_a_worker_that_is_terminated_gives_its_jobs_back(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        stopped = self.start_worker(company, SLOW)
        driver = company.start(*self.command)
        company.wait_for(BEGUN)
        stopped.send_signal(signal.SIGTERM)
        stopped.wait(20)
        assert not company.rows(BEGUN)
        self.start_worker(company)
        assert driver.wait(60) == 0
        check_changes(company, at_home)

    @pytest.mark.slow
    def test_a_job_that_kills_three_workers_ends_with_an_error(self, company: Company) -> None:
        driver = company.start(*self.command)
        for _ in range(5):
            worker = self.start_worker(company, DEADLY)
            while worker.poll() is None and driver.poll() is None:
                time.sleep(0.1)
            if driver.poll() is not None:
                break
        assert driver.wait(60) == 1
        jobs = {job["node_id"]: job for job in company.remora("show", "last")["jobs"]}
        deadly = jobs.pop("node:src/shop/pricing.py:__module__")
        assert deadly["error"] == "its worker died 3 times"
        assert {job["status"] for job in jobs.values()} == {"verified"}
        company.check_streams()
