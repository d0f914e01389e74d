"""The prompts of the server: tasks that a person hands to an agent."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from remora.ids import LAST
from remora.mcp.project_data import EXPLANATION, marked
from remora.mcp.record_answers import RecordAnswers
from remora.runs.records.current_attempt import PENDING
from remora.runs.records.results import FAILED

_MOST = 20
_ENTRY = ("agent_id", "operation", "node_id", "status", "stop_reason", "turns", "why", "error")


class PromptSpec(NamedTuple):
    name: str
    description: str


WHY_FAILED = PromptSpec("why_failed", "Find out why jobs of a run failed.")
REVIEW_RUN = PromptSpec("review_run", "Review the changes that a run proposes.")
PROMPTS = (WHY_FAILED, REVIEW_RUN)


def prompt_text(name: str, arguments: Mapping[str, str], records: RecordAnswers) -> str:
    """Return the text of a prompt. Raises NotFound if the run does not exist."""
    run, jobs = records.jobs(arguments.get("run") or LAST)
    write = _why_failed if name == WHY_FAILED.name else _review
    return write(run, jobs)


def _why_failed(run: str, jobs: Iterable[Mapping[str, Any]]) -> str:
    failed = [job for job in jobs if job["status"] in FAILED]
    if not failed:
        return f"No job of Remora's run {run} failed. Say so, and stop."
    return f"""\
Find out why these jobs of Remora's run {run} failed. {EXPLANATION}

{_entries(failed)}

For each job: read remora://transcript/AGENT_ID to see where it went wrong, then call trace_packet \
for the turn of the wrong decision to see what the model knew. Say which it was: the fact was \
missing from the packet, the fact was stale, the facts were right and the choice was wrong, a tool \
failed, or time ran out. Quote the event that shows it, with its turn. Then say what would prevent \
it: a setting, a retry with feedback, or a change of the code.
"""


def _review(run: str, jobs: Iterable[Mapping[str, Any]]) -> str:
    pending = [job for job in jobs if job["review"] == PENDING]
    if not pending:
        return f"Remora's run {run} has no pending changes. Say so, and stop."
    return f"""\
Review the pending changes of Remora's run {run} as the maintainer of this project. {EXPLANATION}

{_entries(pending)}

Read remora://diff/{run}/AGENT_ID for each of them, and call hub_get for the function that it \
changes to see who depends on it. For each change say merge, edit or reject, and why in one \
sentence. You cannot accept changes: end with the commands that the person should run, such as \
`remora accept {run} path:qualname` or `remora reject {run} path:qualname --feedback TEXT`.
"""


def _entries(jobs: list[Mapping[str, Any]]) -> str:
    lines = [
        json.dumps({key: job[key] for key in _ENTRY if job[key] not in (None, "", [])})
        for job in jobs[:_MOST]
    ]
    more = len(jobs) - _MOST
    listed = marked("\n".join(lines))
    return f"{listed}\nand {more} more; call runs to see them" if more > 0 else listed
