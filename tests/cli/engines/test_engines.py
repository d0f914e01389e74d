"""Every engine passes the conformance suite."""

import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.engines.company import DEADLY, DISTANT, OUTDATED, SLOW, UNREPORTED, Company
from tests.cli.engines.conformance import (
    BEGUN,
    SERVER,
    EngineConformance,
    check_changes,
    publish,
)
from tests.postgres_server import required_server


@pytest.mark.slow  # `tests/cli/test_postgres_commands.py` has fast tests of it
class TestLocal(EngineConformance):
    engine = "local"

    def start_worker(self, company: Company, patch: str = "", dsn: str = "") -> None:
        """The driver runs the jobs."""


class TestQueue(EngineConformance):
    engine = "queue"

    @pytest.fixture(autouse=True)
    def _extra(self) -> None:
        pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")

    def start_worker(
        self, company: Company, patch: str = "", dsn: str = ""
    ) -> "subprocess.Popen[bytes]":
        return company.start("worker", patch=patch, dsn=dsn)

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
        tools = company.remora("trace", "transcript", run["jobs"][0]["agent_id"], "--messages")
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
    def test_the_jobs_of_a_killed_worker_are_continued_elsewhere(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        killed = self.start_worker(company, SLOW)
        driver = company.start(*self.command)
        company.wait_for(BEGUN)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert company.rows(BEGUN), "the kill hit no job"
        self.start_worker(company)
        assert driver.wait(60) == 0
        check_changes(company, at_home)

    @pytest.mark.slow
    def test_a_worker_that_was_stopped_for_longer_than_its_lease_writes_nothing(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        stopped = self.start_worker(company, SLOW)
        driver = company.start(*self.command)
        company.wait_for(BEGUN)
        stopped.send_signal(signal.SIGSTOP)
        assert company.rows(BEGUN), "the stop hit no job"
        self.start_worker(company)
        company.wait_for("SELECT 1 FROM streams WHERE deaths > 0")  # the other one has taken over
        stopped.send_signal(signal.SIGCONT)
        assert driver.wait(60) == 0
        time.sleep(2)  # what it still does
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
