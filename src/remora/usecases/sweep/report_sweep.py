"""Builds the report of a sweep from the runs of its repositories."""

from remora.errors import RemoraError
from remora.operations.base import Operations
from remora.runs.records.results import read_run
from remora.runs.report.sweep_report import Debt, RepositoryReport, SweepReport, debts_of
from remora.usecases.sweep.sweep_records import RecordedSweep
from remora.usecases.sweep.sweep_summary import MISSING, RepositorySummary, summarize
from remora.version import __version__


def make_sweep_report(sweep: RecordedSweep, operations: Operations) -> SweepReport:
    """Return the report of a sweep. A repository without changes has the numbers of its last run."""
    summaries = {one.name: one for one in summarize(sweep).repositories}
    debts: dict[str, tuple[Debt, ...]] = {}
    errors: dict[str, str] = {}
    for name, project, run_id in sweep.recorded():
        try:
            view = read_run(project, run_id)
            debts[name] = debts_of(view, operations.totals)
            if view.damaged:
                errors[name] = str(view.damaged[0].error)
        except RemoraError as error:
            errors[name] = error.message
    return SweepReport(
        run_id=sweep.run_id,
        version=__version__,
        repositories=tuple(
            _repository(one, debts.get(one.name, ()), errors.get(one.name, one.error))
            for one in summaries.values()
        ),
    )


def _repository(one: RepositorySummary, debts: tuple[Debt, ...], error: str) -> RepositoryReport:
    if one.status == MISSING:
        error = f"{one.root} does not exist"
    return RepositoryReport(
        name=one.name,
        run_id=one.run_id,
        status=one.status,
        jobs=one.jobs,
        pending=one.pending,
        accepted=one.accepted,
        debts=debts,
        error=error,
    )
