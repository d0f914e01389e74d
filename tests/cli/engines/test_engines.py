"""Every engine passes the conformance suite."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.engines.company import DISTANT, OUTDATED, SLOW, UNREPORTED, Company
from tests.cli.engines.conformance import (
    BEGUN,
    LINT,
    SERVER,
    EngineConformance,
    WorkerConformance,
    check_changes,
    publish,
)
from tests.cli.engines.ray_nodes import RayCluster, RayNode
from tests.postgres_server import required_server


@pytest.mark.slow  # `tests/cli/test_postgres_commands.py` has fast tests of it
class TestLocal(EngineConformance):
    engine = "local"

    def start_worker(self, company: Company, patch: str = "", dsn: str = "") -> None:
        """The driver runs the jobs."""


class TestQueue(WorkerConformance):
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
@pytest.mark.timeout(200)
def test_an_address_where_no_cluster_listens_is_refused_at_once(tmp_path: Path, dsn: str) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with ExitStack() as stack:
        company = Company(tmp_path, dsn, stack)
        company.environ["RAY_ADDRESS"] = "127.0.0.1:1"
        began = time.monotonic()
        refused = company.remora(*LINT, "--engine", "ray", code=3)
        assert time.monotonic() - began < 60
        message = refused["error"]["message"]
        assert "nothing answers at the address of the Ray cluster, 127.0.0.1:1" in message


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestRay(WorkerConformance):
    """A cluster of a head, which the driver uses, and of nodes that run shards."""

    engine = "ray"

    @pytest.fixture
    def company(self, tmp_path: Path, dsn: str, ray_cluster: RayCluster) -> Iterator[Company]:
        self._cluster = ray_cluster
        with ExitStack() as stack:
            company = Company(tmp_path, dsn, stack)
            company.environ |= ray_cluster.settings
            yield company
            ray_cluster.remove_nodes()

    def start_worker(self, company: Company, patch: str = "", dsn: str = "") -> RayNode:
        return self._cluster.add_node(
            {**company.environ, "REMORA_POSTGRES__DSN": dsn or company.dsn}, patch
        )

    def test_a_worker_of_another_version_takes_no_shard_from_others(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        """Here the run ends, and can be resumed when the node is replaced."""
        wrong = self.start_worker(company, OUTDATED)
        refused = company.remora(*self.command, code=3)
        assert "another version of Remora" in refused["error"]["message"]
        assert "(install the same version on all machines)" in refused["error"]["message"]
        wrong.kill()
        self.start_worker(company)
        company.remora("analyze", "--resume", "last", "--engine", "ray")
        check_changes(company, at_home)

    def test_a_shard_needs_no_cpu_for_each_request_to_a_server(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        company.environ["REMORA_MODEL__MAX_CONCURRENCY"] = "16"
        self.start_worker(company)
        company.remora(*self.command)
        check_changes(company, at_home)

    def test_a_terminated_process_of_a_node_releases_its_jobs(
        self, company: Company, at_home: dict[str, str]
    ) -> None:
        node = self.start_worker(company, SLOW)
        driver = company.start(*self.command)
        company.wait_for(BEGUN)
        (worker,) = node.workers()
        os.kill(worker, signal.SIGTERM)
        assert driver.wait(60) == 0
        assert not company.rows("SELECT 1 FROM streams WHERE deaths > 0")
        assert company.rows("SELECT 1 FROM streams WHERE epoch > 1"), "the signal hit no job"
        check_changes(company, at_home)
