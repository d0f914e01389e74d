"""The exit code of jobs: 3 if a model failed in any of them, else 1 if any needs attention."""

from collections.abc import Sequence

import pytest

from remora.cli.views.run_view import jobs_exit_code
from remora.runs.records.job_view import JobView, Outcome

DONE = ("verified", "verified")
NOTHING = ("no_change", "no_change")
REFUSED = ("failed", "verification")
NO_CALLS = ("failed", "model_error")
NO_SERVER = ("error", "model_error")
BY_RULES = ("verified", "model_error")
TOO_LARGE = ("verified", "packet_too_large")
BROKEN = ("error", "tool_error")


@pytest.mark.parametrize(
    ("jobs", "code"),
    [
        ([], 0),
        ([DONE, NOTHING], 0),
        ([DONE, REFUSED], 1),
        ([DONE, NO_CALLS], 3),
        ([DONE, TOO_LARGE], 1),
        ([DONE, BROKEN], 1),
        ([NO_SERVER], 3),
        ([DONE, NO_SERVER], 3),
        ([DONE, BY_RULES], 3),
        ([REFUSED, BY_RULES], 3),
    ],
)
def test_of_jobs(jobs: Sequence[tuple[str, str]], code: int) -> None:
    views = [
        JobView(
            agent_id="a",
            operation="o",
            node_id="n",
            status=status,
            outcome=Outcome(stop_reason=reason),
        )
        for status, reason in jobs
    ]
    assert jobs_exit_code(views) == code
