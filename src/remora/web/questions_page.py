"""The page of a run's questions to models: what `remora eval decisions` shows of it."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from remora.errors import RemoraError
from remora.evals.question_report import (
    Question,
    QuestionReport,
    agents_of_run,
    questions_of_agent,
)
from remora.ids import display_name
from remora.runs.records.name_lookup import run_named
from remora.text import count
from remora.trace.trace_folder import TraceFolder
from remora.web.agent_records import Records
from remora.web.html_responses import page

_MOST = 500
"""Questions in the table."""
_NO_QUESTIONS = "No model was asked, because rules decided everything."
_EXPLANATION = (
    "A question is everything that was asked in one turn to decide one thing. It mattered if trials "
    "showed that different answers give different changes."
)
_PLACES = ("first (rules)", "second", "third", "fourth", "fifth")
_HEADS = (
    *("node", "turn", "kind", "by", "requests", "tokens", "seconds"),
    *("outcomes", "candidates", "chosen", "decided"),
)


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
        text=_EXPLANATION if questions or problems else _NO_QUESTIONS,
        totals=_totals(document["totals"]),
        heads=_HEADS,
        rows=[(each, _row(each)) for each in questions[:_MOST]],
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


def _totals(totals: Mapping[str, Any]) -> str:
    """Return what the questions cost, such as `3 questions, 5 requests, 1,200 tokens, 2.1 s`."""
    questions, requests = (count(totals[name], name[:-1]) for name in ("questions", "requests"))
    return f"{questions}, {requests}, {totals['tokens']:,} tokens, {totals['seconds']:.1f} s"


def _row(question: Mapping[str, Any]) -> list[str]:
    """Return the cells of a question, in the order of _HEADS."""
    chosen = question["choice"]
    return [
        display_name(question["node_id"]),
        str(question["turn"]),
        question["kind"],
        f"{question['model']} ({question['strategy']})",
        f"{question['requests']:,}",
        f"{question['tokens']:,}",
        f"{question['seconds']:.2f}",
        "not tried" if question["outcomes"] is None else str(question["outcomes"]),
        str(question["candidates"] or "-"),
        "-" if chosen is None else _place(chosen),
        question["decided_by"] or "no answer",
    ]


def _place(choice: int) -> str:
    return _PLACES[choice] if choice < len(_PLACES) else f"number {choice + 1:,}"
