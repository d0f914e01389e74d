"""Every engine passes the conformance suite."""

import subprocess

import pytest

from tests.cli.engines.company import Company
from tests.cli.engines.conformance import EngineConformance, WorkerConformance


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
