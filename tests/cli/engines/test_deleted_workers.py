"""A run whose workers were deleted, and the secrets in the environments of a run by workers."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cli.engines.company import DISTANT, Company
from tests.openai_server import Handler, Server, answer, openai_server, send_json

PASSWORD = "password-of-the-database-1"
WORKER = {"REMORA_API_KEY": "key-of-the-worker-2", "DEPLOY_TOKEN": "token-of-the-worker-3"}
DRIVER = {"REMORA_API_KEY": "key-of-the-driver-4", "DEPLOY_TOKEN": "token-of-the-driver-5"}
SECRETS = [text.encode() for text in (PASSWORD, *WORKER.values(), *DRIVER.values())]
ANALYZE = ("analyze", "-o", "lint", "--node", "src/shop/[rs]*", "--seed", "1")


@pytest.fixture
def model() -> Iterator[Server]:
    def chat(handler: Handler, _request: object, _number: int) -> None:
        send_json(handler, answer(text="I would rather not."))

    with openai_server(chat) as server:
        yield server


@pytest.fixture
def company(tmp_path: Path, dsn: str, model: Server) -> Iterator[Company]:
    with ExitStack() as stack:
        company = Company(tmp_path, f"{dsn} password={PASSWORD}", stack)
        company.environ |= {**DRIVER, "REMORA_MODEL": model.address, "REMORA_MODEL__NAME": "m"}
        yield company


@contextmanager
def queue_worker(company: Company) -> Iterator[None]:
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    own, company.environ = company.environ, {**company.environ, **WORKER}
    worker = company.start("worker", patch=DISTANT)
    company.environ = own
    yield
    worker.terminate()
    worker.wait(20)


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_run_needs_nothing_of_its_workers_and_holds_no_secret(
    company: Company, model: Server
) -> None:
    before = sources(company)
    accept(company, company.remora(*ANALYZE)["run_id"])
    accepted = sources(company)
    assert accepted != before
    company.remora("revert", "last")
    assert sources(company) == before

    with queue_worker(company):
        run = company.remora(*ANALYZE, "--engine", "queue")
        assert {f"Bearer {each['REMORA_API_KEY']}" for each in (WORKER, DRIVER)} <= set(model.keys)
        check_database(company, run["run_id"])
        check_files(files_below(company.project.parent))
    for cache in ("cache", "cache-elsewhere"):
        assert (company.project.parent / cache).exists()
        shutil.rmtree(company.project.parent / cache)

    *_, returns, stock = sorted(run["jobs"], key=lambda job: job["node_id"])
    company.remora("trace", "fork", returns["agent_id"], "--turn", "1", "--continue")
    name = stock["node_id"].partition(":")[2]
    company.remora("retry", run["run_id"], name, "--feedback", "name the unit")
    accept(company, run["run_id"])
    assert sources(company) == accepted
    company.remora("revert", run["run_id"])
    assert sources(company) == before
    company.check_streams()


def accept(company: Company, run: str) -> None:
    company.remora("accept", "--untested", run, "--all")


def sources(company: Company) -> dict[str, bytes]:
    return {
        str(path.relative_to(company.project)): path.read_bytes()
        for path in company.project.rglob("*.py")
    }


def check_database(company: Company, run: str) -> None:
    """No secret is in any table, also not in bytes, which a dump shows as hexadecimal numbers."""
    dump = subprocess.run(["pg_dump", company.dsn], check=True, capture_output=True).stdout
    assert run.encode() in dump
    assert b"def parcel_number".hex().encode() in dump
    for secret in SECRETS:
        assert secret not in dump
        assert secret.hex().encode() not in dump


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def check_files(paths: list[Path]) -> None:
    for path in paths:
        content = path.read_bytes()
        assert not [secret for secret in SECRETS if secret in content], path
