"""The page of `remora eval decisions`, and its pictures."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from remora.evals.pages.evaluation_page import EvaluationPage, Section, html_page, table
from remora.evals.restore.scores import wilson_interval
from remora.ids import display_name
from remora.pictures.count_grid import Cell, Column, Row, count_grid, counted_row
from remora.pictures.dot_rows import Arm, Measure, dot_rows
from remora.pictures.figure import Frame
from remora.pictures.interval import Estimate
from remora.text import count

NO_QUESTIONS = "No model was asked, because rules decided everything."
EXPLANATION = (
    "A question is everything that was asked in one turn to decide one thing. It mattered if trials "
    "showed that different answers give different changes. Ranges are 95 % Wilson intervals."
)
_Question = Mapping[str, Any]
_PLACES = ("first (rules)", "second", "third", "fourth", "fifth")
_RESULTS = (
    Column("as rules", "state-quiet", "=", "the call that rules would have made"),
    Column("another", "state-wait", "≠", "a call or a text that rules would not have made"),
    Column("no answer", "state-warn", "✗", "no answer was used"),
)
_WORTH = (
    (True, "could matter"),
    (False, "could not matter"),
    (None, "not tried"),
)
HEADS = (
    *("node", "turn", "kind", "by", "requests", "tokens", "seconds"),
    *("outcomes", "candidates", "chosen", "decided"),
)


def decisions_page(document: Mapping[str, Any], project: str) -> str:
    """Return the document of `eval decisions` as HTML."""
    questions = document["questions"]
    sections = [
        Section("What the questions were worth", decision_pictures(questions)),
        Section("Questions", [table(HEADS, map(question_row, questions))]),
    ]
    return html_page(
        EvaluationPage(
            title=f"{project}: questions to models",
            about=f"run {document['run_id']}: {totals_text(document['totals'])}",
            text=EXPLANATION if questions else NO_QUESTIONS,
            sections=sections if questions else (),
        )
    )


def totals_text(totals: Mapping[str, Any]) -> str:
    """Return what the questions cost, such as `3 questions, 5 requests, 1,200 tokens, 2.1 s`."""
    questions, requests = (count(totals[name], name[:-1]) for name in ("questions", "requests"))
    return f"{questions}, {requests}, {totals['tokens']:,} tokens, {totals['seconds']:.1f} s"


def question_row(one: _Question) -> list[str]:
    """Return the cells of a question, in the order of HEADS."""
    chosen = one["choice"]
    return [
        display_name(one["node_id"]),
        str(one["turn"]),
        one["kind"],
        f"{one['model']} ({one['strategy']})",
        f"{one['requests']:,}",
        f"{one['tokens']:,}",
        f"{one['seconds']:.2f}",
        "not tried" if one["outcomes"] is None else str(one["outcomes"]),
        str(one["candidates"] or "-"),
        "-" if chosen is None else _place(chosen),
        one["decided_by"] or "no answer",
    ]


def decision_pictures(questions: Sequence[_Question]) -> list[Markup]:
    """Return the pictures of a run's questions, of which there is at least one."""
    return [_models(questions), _worth(questions), _choices(questions)]


def _models(questions: Sequence[_Question]) -> Markup:
    frame = _frame(
        "models",
        "Questions by model",
        "Of each model's questions: those tried whose answers lead to different changes, and those "
        "with candidates whose answer was another one than the rules'.",
    )
    models = dict.fromkeys(_model(one) for one in questions)
    groups = [(name, [one for one in questions if _model(one) == name]) for name in models]
    if len(groups) > 1:
        groups.append(("all", list(questions)))
    measures = [Measure(name) for name in ("could matter", "another answer")]
    return dot_rows(frame, measures, [Arm(name, _shares(found)) for name, found in groups])


def _shares(questions: Sequence[_Question]) -> list[Estimate | None]:
    tried = [one for one in questions if one["could_matter"] is not None]
    offered = [one for one in questions if one["candidates"]]
    return [
        _share(tried, lambda one: bool(one["could_matter"])),
        _share(offered, lambda one: bool(one["changed"])),
    ]


def _share(
    questions: Sequence[_Question], is_counted: Callable[[_Question], bool]
) -> Estimate | None:
    if not questions:
        return None
    share = sum(map(is_counted, questions)) / len(questions)
    return Estimate(share, *wilson_interval(share, len(questions)))


def _worth(questions: Sequence[_Question]) -> Markup:
    frame = _frame(
        "worth",
        "Worth of the questions against what was decided",
        "A question that could not matter was not worth asking.",
    )
    counts = Counter((one["could_matter"], _result(one)) for one in questions)
    rows = [
        counted_row(f"{text}: {sum(numbers):,}", numbers)
        for worth, text in _WORTH
        if any(numbers := [counts[worth, place] for place in range(len(_RESULTS))])
    ]
    return count_grid(frame, "worth", _RESULTS, rows)


def _choices(questions: Sequence[_Question]) -> Markup:
    """Return how many candidates were offered against which was chosen."""
    choices = [one for one in questions if one["kind"] == "choice" and one["candidates"]]
    frame = _frame(
        "choices",
        "Choices offered against choices made",
        "The first candidate is the one that rules choose.",
    )
    offered = sorted({one["candidates"] for one in choices})
    places = min(max(offered, default=0), len(_PLACES))
    columns = [
        *_columns(places, has_more=max(offered, default=0) > places),
        Column("none", "state-warn", "✗"),
    ]
    rows = [_chosen_row(number, choices, columns) for number in offered]
    return count_grid(frame, "offered", columns, rows)


def _chosen_row(offered: int, choices: Sequence[_Question], columns: Sequence[Column]) -> Row:
    """Return which candidates were chosen of so many. Places that were not offered stay empty."""
    found = Counter(_chosen(one) for one in choices if one["candidates"] == offered)
    row = counted_row(f"{offered:,} offered", [found[each.name] for each in columns])
    cells = [
        Cell("", None) if offered <= place < len(columns) - 1 else cell
        for place, cell in enumerate(row.cells)
    ]
    return row._replace(cells=cells)


def _columns(places: int, *, has_more: bool) -> Iterator[Column]:
    for number in range(places):
        yield Column(_PLACES[number], "state-wait" if number else "state-quiet")
    if has_more:
        yield Column("later", "state-wait")


def _chosen(one: _Question) -> str:
    choice = one["choice"]
    if choice is None:
        return "none"
    return _PLACES[choice] if choice < len(_PLACES) else "later"


def _place(choice: int) -> str:
    return _PLACES[choice] if choice < len(_PLACES) else f"number {choice + 1:,}"


def _result(one: _Question) -> int:
    if not one["decided_by"]:
        return 2
    return 1 if one["changed"] else 0


def _model(one: _Question) -> str:
    return f"{one['model']} ({one['strategy']})"


def _frame(name: str, title: str, text: str) -> Frame:
    return Frame(f"decisions-{name}", title, text)
