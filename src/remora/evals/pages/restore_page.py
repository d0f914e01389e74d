"""The page of `remora eval restore`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from remora.evals.pages.evaluation_page import (
    EvaluationPage,
    Section,
    folded,
    html_page,
    paragraphs,
    table,
)
from remora.evals.restore.phrases import HEAD, details, heading, row
from remora.evals.restore.scores import wilson_interval
from remora.pictures.count_grid import Column, count_grid, counted_row
from remora.pictures.dot_rows import Arm, Measure, dot_rows
from remora.pictures.figure import Frame
from remora.pictures.interval import Estimate
from remora.pictures.share_curves import Axes, Curve, CurvePoint, share_curves

_EXPLANATION = (
    "Precision is the share of the written parts that mean what people wrote; coverage is the share "
    "of the hidden parts that were written; restored is the share of the hidden parts that were "
    "written and mean the same. Ranges are 95 % intervals: from drawing files with replacement, or "
    "that of the parts alone (Wilson) where it is wider."
)
_MEASURES = ("precision", "coverage", "restored")
_OUTCOMES = (
    Column("exact", "state-good", "✓", "the same text"),
    Column("equivalent", "state-good", "≈", "another text with the same meaning"),
    Column("different", "state-bad", "✗", "anything else that was written"),
    Column("left", "state-quiet", "-", "nothing was written"),
)


def restore_page(document: Mapping[str, Any], project: str) -> str:
    """Return the document of `eval restore` as HTML."""
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    commit = f"commit {document['commit'][:12]}, " if document["commit"] else ""
    return html_page(
        EvaluationPage(
            title=f"{project}: restored by Remora",
            about=f"{commit}seed {document['seed']}, {versions}",
            text=_EXPLANATION,
            sections=[
                Section(heading(each), list(_operation(each))) for each in document["operations"]
            ],
            notes=document["notes"],
        )
    )


def _operation(found: Mapping[str, Any]) -> Iterator[Markup]:
    arms = [arm for arm in found["arms"] if not arm["error"]]
    if arms:
        yield _arms(found["operation"], arms)
        yield _curves(found["operation"], arms)
        yield _outcomes(found["operation"], arms)
        yield table([name.lower() for name in HEAD], map(row, arms))
    yield paragraphs(line for arm in found["arms"] for line in details(arm))
    if found["examples"]:
        rows = [
            (f"{each['path']}:{each['qualname']}", *(each[key] for key in _EXAMPLE[1:]))
            for each in found["examples"]
        ]
        yield folded("Different texts", table(_EXAMPLE, rows, "texts-table"))


_EXAMPLE = ("where", "part", "people", "arm", "written")


def _arms(operation: str, arms: Sequence[Mapping[str, Any]]) -> Markup:
    frame = _frame(
        operation, "arms", "Arms with intervals", "One row per arm, with its 95 % intervals."
    )
    rows = [
        Arm(arm["name"], [_estimate(arm[name], arm[f"{name}_ci95"]) for name in _MEASURES])
        for arm in arms
    ]
    return dot_rows(frame, [Measure(name) for name in _MEASURES], rows)


def _curves(operation: str, arms: Sequence[Mapping[str, Any]]) -> Markup:
    curves = [
        Curve(arm["name"], [*_points(arm)], end) for arm in arms if (end := _end(arm)) is not None
    ]
    text = "Dots are the arms' results, with 95 % intervals."
    if any(len(each.points) > 1 for each in curves):
        text += (
            " A curve takes the likeliest parts first, so that it shows the precision if only these "
            "were accepted; its band is the interval of the parts alone (Wilson). Parts without a "
            "probability are not in a curve."
        )
    frame = _frame(operation, "curves", "Precision against coverage", text)
    return share_curves(frame, Axes("coverage", "precision"), curves)


def _points(arm: Mapping[str, Any]) -> Iterator[CurvePoint]:
    for coverage, precision, _probability in arm["curve"]:
        number = max(round(coverage * arm["slots"]), 1)
        yield CurvePoint(coverage, _estimate_of(precision, wilson_interval(precision, number)))


def _end(arm: Mapping[str, Any]) -> tuple[Estimate, Estimate] | None:
    found = [_estimate(arm[name], arm[f"{name}_ci95"]) for name in ("coverage", "precision")]
    coverage, precision = found
    return None if coverage is None or precision is None else (coverage, precision)


def _outcomes(operation: str, arms: Sequence[Mapping[str, Any]]) -> Markup:
    frame = _frame(
        operation,
        "outcomes",
        "Outcomes by kind",
        "Each row is the hidden parts of a kind, and what became of them.",
    )
    kinds = dict.fromkeys(kind for arm in arms for kind in arm["by_kind"])
    rows = [
        counted_row(
            _named(kind, arm, arms), [arm["by_kind"][kind][each.name] for each in _OUTCOMES]
        )
        for kind in kinds
        for arm in arms
        if kind in arm["by_kind"]
    ]
    if len(kinds) > 1:
        rows += [
            counted_row(_named("all kinds", arm, arms), [arm[each.name] for each in _OUTCOMES])
            for arm in arms
        ]
    return count_grid(frame, "kind", _OUTCOMES, rows)


def _named(kind: str, arm: Mapping[str, Any], arms: Sequence[Mapping[str, Any]]) -> str:
    return kind if len(arms) == 1 else f"{kind}: {arm['name']}"


def _frame(operation: str, name: str, title: str, text: str) -> Frame:
    return Frame(f"{operation}-{name}", title, text)


def _estimate(value: float | None, interval: Sequence[float] | None) -> Estimate | None:
    return None if value is None else _estimate_of(value, interval or (value, value))


def _estimate_of(value: float, interval: Sequence[float]) -> Estimate:
    """Return a number with its interval. Rounding of a document may leave it just outside."""
    low, high = interval
    return Estimate(value, min(low, value), max(high, value))
