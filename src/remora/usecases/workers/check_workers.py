"""Checks the workers of an engine by what each of them reports about itself."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from remora.config.schema import Config
from remora.engines.worker_report import WorkerReport
from remora.errors import RemoraError
from remora.runs.doctor import DoctorCheck
from remora.runs.execution.shard_task import code_digest
from remora.sandbox.isolation import LEVEL_NAMES, SAFE_LEVEL
from remora.text import count
from remora.usecases.analyze.remote_workers import QUEUE
from remora.usecases.workers.find_workers import find_workers

_LEAST_BYTES = 1 << 30
_START = {
    QUEUE: "start `remora worker` on each machine that is to run jobs",
    "ray": "add nodes with CPUs with `ray start --address=HOST:6379`",
}


class CheckedWorkers(NamedTuple):
    """The check of each worker, and the reports that they are based on."""

    checks: list[DoctorCheck]
    reports: list[WorkerReport]


def check_workers(engine: str, config: Config, environ: Mapping[str, str]) -> CheckedWorkers:
    """Have each worker of an engine report about itself, and check it. Never raises RemoraError."""
    if config.runner.memory.trace_store != "postgres":
        hint = "set runner.memory.trace_store: postgres; see docs/how-to/scale.md"
        return _failed(f"--engine {engine} needs streams that all machines reach", hint)
    try:
        found = find_workers(engine, config.postgres, environ)
    except RemoraError as error:
        return _failed(error.message, error.hint)
    reports = sorted(found.reports, key=lambda report: (report.host, report.pid))
    checks = [check_report(report) for report in reports]
    if found.silent:
        detail = f"{count(found.silent, 'worker')} gave no answer"
        hint = "restart it; it has an older version of Remora, or its connection is broken"
        checks.append(DoctorCheck(name="worker", ok=False, detail=detail, hint=hint))
    elif not reports:
        return _failed("none is running", _START[engine])
    return CheckedWorkers(checks, reports)


def _failed(detail: str, hint: str) -> CheckedWorkers:
    return CheckedWorkers([DoctorCheck(name="workers", ok=False, detail=detail, hint=hint)], [])


def check_report(report: WorkerReport) -> DoctorCheck:
    """Return the check of a worker. It is needed if the worker cannot run shards, or must not."""
    faults, warnings = dict(_faults(report)), dict(_warnings(report))
    name = f"{report.host}:{report.pid}" if report.pid else report.host
    problems = [*faults, *warnings]
    return DoctorCheck(
        name="worker",
        ok=not problems,
        detail=f"{name}: {'; '.join([*problems, *_facts(report)])}",
        needed=bool(faults),
        hint="; ".join(dict.fromkeys([*faults.values(), *warnings.values()])),
    )


def _faults(report: WorkerReport) -> Iterator[tuple[str, str]]:
    """Yield what prevents a worker from running shards, or forbids it, and what to do."""
    if report.error:
        yield report.error, "correct the installation or configuration of this worker"
        return
    if report.code != code_digest():
        yield (
            "has another version of Remora or ruff than this machine",
            "install the same version on all machines",
        )
    if report.database_error:
        yield report.database_error, "check postgres.dsn on the worker's machine"
    elif report.changes:
        verbs = ", ".join(report.changes)
        yield (
            f"its role {report.role} may change stored events ({verbs})",
            "use a role from `remora database init --worker ROLE`",
        )
    elif not report.may_append:
        yield (
            f"its role {report.role} may not append events",
            f"run `remora database init --worker {report.role}` as the owner",
        )
    if report.model_error and report.model_is_needed:
        yield report.model_error, "correct the model's address in the worker's own configuration"


def _warnings(report: WorkerReport) -> Iterator[tuple[str, str]]:
    if report.error:
        return
    if not report.git:
        yield "git does not work", "install git: workers fetch repositories with it"
    if report.isolation < SAFE_LEVEL:
        yield (
            f"isolation only L{report.isolation}, {LEVEL_NAMES[report.isolation]}",
            "run `remora doctor` there to see what is missing",
        )
    if report.free_bytes < _LEAST_BYTES:
        yield f"only {_gigabytes(report)} free", "free space in the worker's cache folder"


def _facts(report: WorkerReport) -> list[str]:
    """Return what is right about a worker."""
    if report.error:
        return []
    has_model = not report.model_error
    clock = report.clock_ahead_s or 0.0
    known = {
        "same Remora and ruff": report.code == code_digest(),
        f"Python {report.python}": True,
        f"role {report.role} at {report.database}": bool(report.database),
        f"clock differs by {abs(clock):.1f} s": report.clock_ahead_s is not None,
        f"L{report.isolation}, {LEVEL_NAMES[report.isolation]}": report.isolation >= SAFE_LEVEL,
        report.git: bool(report.git),
        f"{_gigabytes(report)} free": report.free_bytes >= _LEAST_BYTES,
        f"model {report.model}": has_model,
        "no model: rules only": not has_model and not report.model_is_needed,
    }
    return [text for text, holds in known.items() if holds]


def _gigabytes(report: WorkerReport) -> str:
    return f"{report.free_bytes / 1e9:.1f} GB"
