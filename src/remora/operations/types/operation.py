"""The types operation, which adds missing annotations of parameters and results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from remora.operations.base import JobFindings, Need, Operation, Parts, Phrase, Totals
from remora.text import plural

_MISSING = "missing annotation"


def _load() -> Parts:
    from remora.operations.types.checks import (
        annotations_added,
        annotations_only,
        no_new_diagnostics,
    )
    from remora.operations.types.hidden_annotations import RESTORER
    from remora.operations.types.host_types import (
        annotate,
        functions_to_annotate,
        missing_annotations,
        write_annotations,
    )
    from remora.operations.types.types_need import unannotated
    from remora.tools.host_functions import HostFunction

    return Parts(
        needs={"unannotated": Need(prepare=unannotated)},
        checks={
            "annotations_only": annotations_only,
            "annotations_added": annotations_added,
            "no_new_diagnostics": no_new_diagnostics,
        },
        host_functions=(
            HostFunction(function=functions_to_annotate, seconds=600.0, reads_packages=True),
            *(
                HostFunction(function=function, seconds=600.0, reads_packages=True, writes=True)
                for function in (annotate, write_annotations)
            ),
            HostFunction(function=missing_annotations),
        ),
        restorer=RESTORER,
    )


def _measure(jobs: Sequence[JobFindings], _planned: int) -> dict[str, int] | None:
    known = [job for job in jobs if _MISSING in job.codes]
    if not known:
        return None
    written = sum(job.fixed.get(_MISSING, 0) for job in known if job.is_counted)
    met = sum(job.fixed.get(_MISSING, 0) + job.left.get(_MISSING, 0) for job in known)
    return {"written": written, "of": met}


def _phrase(measure: Mapping[str, int]) -> Phrase:
    what = f"missing {plural('annotation', measure['of'])} written"
    return Phrase(done=measure["written"], of=measure["of"], what=what)


TYPES = Operation(
    name="types",
    folder=Path(__file__).parent,
    job_seconds=0.3,
    unit_seconds=0.1,
    shared_seconds=8.0,
    unit="annotation",
    checks_read_packages=frozenset({"no_new_diagnostics"}),
    load=_load,
    totals=Totals(key="annotations", measure=_measure, phrase=_phrase),
)
