"""Judgements: what could not be judged is shown by reason."""

from remora.judges.judged_change import Late, Unjudged
from remora.usecases.judge.judge_change import Judgement
from remora.usecases.judge.judged_markdown import judged_markdown


def test_places_with_equal_reasons_are_shown_together() -> None:
    faults = [Late(what=f"whether tests notice faults in f{number}") for number in range(8)]
    skipped = [Unjudged(what=f"t.py::test_{name}", why="it is skipped") for name in "ab"]
    parts = (*faults[:4], *skipped, Late(what="mypy"), *faults[4:])
    found = Judgement(
        root="",
        files=1,
        unread=0,
        problems=(),
        unjudged=parts,
        untested="",
        since="",
        seconds=0,
        late=True,
    )
    assert next(judged_markdown(found)) == "## Remora: no remarks so far on 1 changed Python file"
    assert found.shown_unjudged == [
        "whether tests notice faults in f0, f1, f2, f3, f4 and 3 more: no time is left",
        "t.py::test_a, t.py::test_b: it is skipped",
        "mypy: no time is left",
    ]
