"""The docstring operation, which adds missing docstrings and updates outdated docstrings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from remora.operations.base import JobFindings, Need, Operation, Parts, Phrase, Totals
from remora.text import plural

if TYPE_CHECKING:
    from remora.config.schema import OperationConfig

_MISSING, _OUTDATED = "missing docstring", "outdated docstring"


def _load() -> Parts:
    from remora.operations.docstring.docstring_need import docstring_work, reported_contradictions
    from remora.operations.docstring.docstring_verification import (
        docstrings_only,
        documented,
        keeps_text,
        says_more,
    )
    from remora.operations.docstring.host_docstring import (
        calls_of,
        docstring_plan,
        mend_docstring,
        related_facts,
        related_lines,
        write_docstring,
    )
    from remora.tools.host_functions import HostFunction

    return Parts(
        needs={"docstring": Need(prepare=docstring_work)},
        report=reported_contradictions,
        checks={
            "docstrings_only": docstrings_only,
            "documented": documented,
            "keeps_text": keeps_text,
            "says_more": says_more,
        },
        host_functions=(
            HostFunction(function=docstring_plan),
            HostFunction(function=related_facts),
            HostFunction(function=related_lines),
            HostFunction(function=calls_of, seconds=30.0),
            HostFunction(function=mend_docstring, seconds=60.0, writes=True),
            HostFunction(function=write_docstring, seconds=60.0, writes=True),
        ),
    )


def _measure(jobs: Sequence[JobFindings], _planned: int) -> dict[str, int] | None:
    known = [job for job in jobs if job.codes & {_MISSING, _OUTDATED}]
    if not known:
        return None
    done = Counter(code for job in known if job.is_counted for code in job.fixed)
    return {"added": done[_MISSING], "mended": done[_OUTDATED], "of": len(known)}


def _phrase(measure: Mapping[str, int]) -> Phrase:
    words = {"added": "added", "mended": "updated"}
    parts = [f"{measure[key]:,} {word}" for key, word in words.items() if measure[key]]
    return Phrase(
        done=measure["added"] + measure["mended"],
        of=measure["of"],
        what=f"{plural('docstring', measure['of'])} written",
        more=", ".join(parts),
    )


def _settings() -> "type[OperationConfig]":
    from remora.operations.docstring.settings import DocstringConfig

    return DocstringConfig


DOCSTRING = Operation(
    name="docstring",
    folder=Path(__file__).parent,
    job_seconds=0.1,
    by_default=True,
    load=_load,
    totals=Totals(key="docstrings", measure=_measure, phrase=_phrase),
    settings=_settings,
)
