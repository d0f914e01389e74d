"""`doctor --engine` has each worker report about itself."""

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.engines.company import OUTDATED, Company
from tests.cli.engines.ray_nodes import RayCluster


@pytest.fixture
def company(tmp_path: Path, dsn: str) -> Iterator[Company]:
    with ExitStack() as stack:
        yield Company(tmp_path, dsn, stack)


def worker_dsn(company: Company) -> str:
    """The address of the database for a new role that has only the rights of workers."""
    role = f"worker_{secrets.token_hex(4)}"
    with psycopg.connect(company.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    company.remora("database", "init", "--worker", role)
    return company.dsn.replace("user=owner", f"user={role}")


def checks(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the check of each worker, by the number of its process."""
    found = [check for check in document["checks"] if check["name"] == "worker"]
    return {check["detail"].partition(": ")[0].rpartition(":")[2]: check for check in found}


def wait_for_workers(company: Company, number: int) -> None:
    company.wait_for(f"SELECT 1 FROM procrastinate_workers HAVING count(*) = {number}")
    # they listen soon after their first sign of life
    company.wait_for(
        f"SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN remora_workers' "
        f"AND datname = current_database() HAVING count(*) = {number}"
    )


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_each_worker_of_a_queue_is_checked(company: Company) -> None:
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    without = company.remora("doctor", "--engine", "queue", code=1)
    (none,) = [check for check in without["checks"] if check["name"] == "workers"]
    assert (none["ok"], none["detail"]) == (False, "none is running")
    assert "start `remora worker`" in none["hint"]

    role = worker_dsn(company)
    good = company.start("worker", dsn=role)
    wait_for_workers(company, 1)
    document = company.remora("doctor", "--engine", "queue")
    (report,) = document["workers"]
    assert (report["pid"], report["may_append"], report["changes"]) == (good.pid, True, [])
    assert abs(report["clock_ahead_s"]) < 5
    assert report["git"].startswith("git version ")
    (check,) = checks(document).values()
    assert "same Remora and ruff" in check["detail"]
    assert document["ok"]

    outdated = company.start("worker", patch=OUTDATED, dsn=role)
    owner = company.start("worker")
    wait_for_workers(company, 3)
    began = time.monotonic()
    found = checks(company.remora("doctor", "--engine", "queue", code=1))
    assert time.monotonic() - began < 25, "it waited for an answer that had come"
    assert found[str(good.pid)]["ok"] or not found[str(good.pid)]["needed"]
    assert "another version of Remora or ruff" in found[str(outdated.pid)]["detail"]
    assert "may change stored events (DELETE, TRUNCATE, UPDATE)" in found[str(owner.pid)]["detail"]
    for pid in (outdated.pid, owner.pid):
        assert found[str(pid)]["needed"]


def wait_for_nodes(company: Company, number: int) -> dict[str, dict[str, Any]]:
    """Wait until the cluster has so many nodes, and return their checks."""
    end = time.monotonic() + 60
    while True:
        document = company.remora("doctor", "--engine", "ray", code=None)
        found = checks(document)
        if len(found) == number:
            assert document["ok"] == (number == 1), document
            return found
        assert time.monotonic() < end, document


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_node_of_a_ray_cluster_is_checked(company: Company, ray_cluster: RayCluster) -> None:
    company.environ |= ray_cluster.settings
    dsn = worker_dsn(company)
    found: dict[str, dict[str, Any]] = {}
    try:
        without = company.remora("doctor", "--engine", "ray", code=1)
        (none,) = [check for check in without["checks"] if check["name"] == "workers"]
        assert none["detail"] == "none is running"

        restricted = {**company.environ, "REMORA_POSTGRES__DSN": dsn}
        nodes = [(restricted, ""), (restricted, OUTDATED), (company.environ, "")]
        for number, (environ, patch) in enumerate(nodes, 1):
            ray_cluster.add_node(environ, patch)
            found = wait_for_nodes(company, number)
        details = [check["detail"] for check in found.values()]
        assert sum("another version of Remora or ruff" in each for each in details) == 1
        assert sum("may change stored events" in each for each in details) == 1
    finally:
        ray_cluster.remove_nodes()
