"""The page of a run's questions to models: what `remora eval decisions` shows of it."""

from starlette.requests import Request
from starlette.responses import Response

from remora.errors import RemoraError
from remora.evals.pages.decisions_page import (
    EXPLANATION,
    HEADS,
    NO_QUESTIONS,
    decision_pictures,
    question_row,
    totals_text,
)
from remora.evals.question_report import (
    Question,
    QuestionReport,
    agents_of_run,
    questions_of_agent,
)
from remora.runs.records.name_lookup import run_named
from remora.trace.trace_folder import TraceFolder
from remora.web.agent_records import Records
from remora.web.html_responses import page

_MOST = 500
"""Questions in the table. The pictures show all of them."""


def questions_page(records: Records, request: Request) -> Response:
    """Return the questions of a run, each with a link to its turn."""
    trace = records.project().trace
    run = run_named(trace, request.path_params["run"])
    found, problems = _questions(trace, run)
    document = QuestionReport(run, tuple(found)).as_json()
    questions = document["questions"]
    return page(
        "questions.html",
        run=run,
        text=EXPLANATION if questions or problems else NO_QUESTIONS,
        totals=totals_text(document["totals"]),
        pictures=decision_pictures(questions) if questions else [],
        heads=HEADS,
        rows=[(each, question_row(each)) for each in questions[:_MOST]],
        left=max(len(questions) - _MOST, 0),
        problems=problems,
    )


def _questions(trace: TraceFolder, run: str) -> tuple[list[Question], dict[str, str]]:
    """Return the questions of all agents, and why those of some agents could not be read."""
    found: list[Question] = []
    problems = {}
    for agent_id in agents_of_run(trace, run):
        try:
            found += questions_of_agent(trace, agent_id)
        except RemoraError as error:
            problems[agent_id] = error.message
    return found, problems
