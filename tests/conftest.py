"""What holds for every test: how hard Hypothesis tries, and that the machine is not switched off."""

import gc
import os
import secrets
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.no_processes import refuse_processes
from tests.parsed_once import parse_each_text_once
from tests.plain_python import plain_python
from tests.platform_facilities import need_facility
from tests.postgres_server import PostgresServer, required_server
from tests.rewritten_once import rewrite_share

__all__ = ["plain_python"]

SHARED = settings(
    # a machine that others use too says nothing about the speed of an example
    deadline=None,
    # a folder that examples share is one in which each makes its own
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# for `make test`: the same examples each time, so what passed yesterday passes today
settings.register_profile("fast", SHARED, max_examples=20, derandomize=True)
# for `make test-all`
settings.register_profile("thorough", SHARED, max_examples=100)
settings.load_profile("fast")

OTHER_USERS_AND_MACHINES = {
    "mounting a small disk requires root",
    "no systemd here",
    "only root can become another user",
    "only root can become somebody else",
    "only root can be somebody else",
    "only root can give a folder away",
    "only root can give files to another user",
    "other numbers are x86_64's",
    "root may write everywhere",
    "syntax of 3.12",
    "the file system takes no such name",
    "this system's library cannot",
    "this user cannot make devices",
    "this user may not mount",
}
"""Why `make test-all` may skip a test. For any other reason, such as a missing program, it fails."""

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

# `nohup` and background jobs ignore these signals, and processes that tests start would inherit it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL server that the tests of a process share."""
    server = required_server()
    yield server
    server.remove()


@pytest.fixture
def dsn(postgres: PostgresServer) -> str:
    """The connection string of an empty database."""
    return postgres.new_database(f"test_{secrets.token_hex(6)}")


@pytest.fixture(scope="session", autouse=True)
def _no_power_cut() -> Iterator[None]:
    """Skip syncing to the disk: what a process wrote outlives the process without it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in {"fsync", "fdatasync"} & set(dir(os)):
            patch.setattr(os, name, os.fstat)  # like them a system call, and fails where they fail
        yield


@pytest.fixture(scope="session", autouse=True)
def _each_text_is_parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        parse_each_text_once(patch.setattr)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="refuse processes and connections")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """With `--quick`, refuse processes where tests run, which is not where workers start."""
    starts_workers = getattr(session.config.option, "numprocesses", None)
    if session.config.getoption("--quick") and not starts_workers:
        refuse_processes()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked with `needs` on a system that lacks the facility."""
    for mark in item.iter_markers("needs"):
        need_facility(*mark.args)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Ten thousand tests stay to the end: no collection looks for garbage among them."""
    gc.disable()
    rewrite_share(session.config)
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Report, Report]:
    """With TEST_ALL=1, a test that is skipped because something is missing fails."""
    report = yield
    if os.environ.get("TEST_ALL") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in OTHER_USERS_AND_MACHINES:
            report.outcome, report.longrepr = "failed", f"skipped: {reason}"
    return report


pytest_make_collect_report = pytest_runtest_makereport  # a module can be skipped as a whole


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured, and in one line what was skipped and why."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(str(value))
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        parts = [f"{count} ({reason})" for reason, count in reasons.most_common()]
        terminalreporter.write_line(f"skipped tests: {', '.join(parts)}")
