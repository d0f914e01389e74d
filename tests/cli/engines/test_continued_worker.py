"""A worker of the queue that was stopped for longer than its lease, and is then continued."""

import secrets
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.engines.company import LINT, Company
from tests.cli.engines.killed_workers import Workers
from tests.cli.engines.test_kills import RUNNING
from tests.postgres_server import required_server

LOST = "the end of a shard was not recorded"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_logs_the_loss_of_its_shard_in_lines(tmp_path: Path) -> None:
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    server = required_server()
    with ExitStack() as stack:
        stack.callback(server.remove)
        company = Company(tmp_path, server.new_database(f"continued_{secrets.token_hex(6)}"), stack)
        workers = Workers(company)
        driver = company.start(*LINT, "--engine", "queue")
        company.wait_for(RUNNING)
        workers.stop()
        company.wait_for("SELECT 1 FROM streams WHERE deaths > 0")
        assert driver.wait(60) == 0
        # until then the stopped worker may give the shard back, which is not a loss
        company.wait_for("SELECT 1 FROM procrastinate_jobs WHERE status = 'succeeded'")
        workers.go_on()
        end = time.monotonic() + 60
        while LOST not in (log := (tmp_path / "log").read_text()):
            assert time.monotonic() < end, log
            time.sleep(0.1)
    assert log.count(LOST) == 1
    assert "Traceback" not in log
    assert len([line for line in log.splitlines() if " shard 0: " in line]) < 10
