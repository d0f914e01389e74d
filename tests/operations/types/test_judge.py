"""Annotations that add diagnostics are found with few runs of the checker."""

from remora.operations.types.checker.judge import Terms, settle
from remora.operations.types.checker.type_checker import Diagnostic
from remora.operations.types.source.project_index import ProjectIndex
from remora.operations.types.source.slots import find_slots

TEXT = "".join(f"def f{n}(a):\n    return a\n" for n in range(32))


def test_bad_annotations_are_left_out_with_few_runs() -> None:
    index = ProjectIndex({"a.py": TEXT})
    slots = [("a.py", each) for each in find_slots(index.files["a.py"].source)]
    terms: Terms = {key: "int" for key in slots if key[1].name == "a"}
    bad = {key for key in terms if key[1].function in ("f3", "f20")}
    runs = []

    def added_by(annotations: Terms) -> list[Diagnostic]:
        runs.append(len(annotations))
        return [
            Diagnostic("a.py", "bad", 2 * key[1].number + 2, 1, "")
            for key in bad & annotations.keys()
        ]

    assert settle(terms, {}, index, added_by) == {k: t for k, t in terms.items() if k not in bad}
    assert len(runs) <= 5


def test_a_cause_that_no_diagnostic_names_is_found_by_halving() -> None:
    index = ProjectIndex({"a.py": TEXT})
    slots = [("a.py", each) for each in find_slots(index.files["a.py"].source)]
    terms: Terms = {key: "int" for key in slots if key[1].name == "a"}
    bad = next(key for key in terms if key[1].function == "f7")
    runs = []

    def added_by(annotations: Terms) -> list[Diagnostic]:
        runs.append(len(annotations))
        return [Diagnostic("elsewhere.py", "bad", 1, 1, "")] if bad in annotations else []

    assert settle(terms, {}, index, added_by) == {k: t for k, t in terms.items() if k != bad}
    assert len(runs) <= 12
