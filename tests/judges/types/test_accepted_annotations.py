"""Annotations that add diagnostics are found with few runs of the checker."""

from remora.judges.types.accepted_annotations import Terms, settle
from remora.judges.types.project_index import ProjectIndex
from remora.tools.host.declared_type_checker import Diagnostic

TEXT = "".join(f"def f{n}(a):\n    return a\n" for n in range(32))


def test_bad_annotations_are_left_out_with_few_runs() -> None:
    index = ProjectIndex({"a.py": TEXT})
    slots = [("a.py", each) for each in index.files["a.py"].source.slots]
    terms: Terms = {key: "int" for key in slots if key[1].name == "a"}
    bad = {key for key in terms if key[1].function in ("f3", "f20")}
    runs = []

    def added_by(annotations: Terms) -> list[Diagnostic]:
        runs.append(len(annotations))
        return [
            Diagnostic("a.py", "bad", 2 * key[1].number + 2, 1, "")
            for key in bad & annotations.keys()
        ]

    assert settle(terms, {}, index, added_by, by_function=False) == {
        k: t for k, t in terms.items() if k not in bad
    }
    assert len(runs) <= 5


def test_a_cause_that_no_diagnostic_names_is_found_by_halving() -> None:
    index = ProjectIndex({"a.py": TEXT})
    slots = [("a.py", each) for each in index.files["a.py"].source.slots]
    terms: Terms = {key: "int" for key in slots if key[1].name == "a"}
    bad = next(key for key in terms if key[1].function == "f7")
    runs = []

    def added_by(annotations: Terms) -> list[Diagnostic]:
        runs.append(len(annotations))
        return [Diagnostic("elsewhere.py", "bad", 1, 1, "")] if bad in annotations else []

    assert settle(terms, {}, index, added_by, by_function=False) == {
        k: t for k, t in terms.items() if k != bad
    }
    assert len(runs) <= 12


def test_a_function_that_was_not_checked_before_is_left_out_as_a_whole() -> None:
    """The first annotation makes mypy read the body, whichever it is."""
    text = "def outer(a, b):\n    def inner(c):\n        return c\n    return a\n"
    text += "def known(a, b: int):\n    return a\n"
    index = ProjectIndex({"a.py": text})
    terms: Terms = {("a.py", each): "int" for each in index.files["a.py"].source.slots}

    def added_by(annotations: Terms) -> list[Diagnostic]:
        names = {(slot.function, slot.name) for _, slot in annotations}
        is_read = any(function == "outer.inner" for function, _ in names)
        found = [Diagnostic("a.py", "bad", 3, 1, "")] if is_read else []
        return found + ([Diagnostic("a.py", "bad", 6, 1, "a")] if ("known", "a") in names else [])

    left = settle(terms, {}, index, added_by, by_function=True)
    assert {f"{slot.function}.{slot.name}" for _, slot in left} == {
        *("outer.a", "outer.b", "outer.return", "known.return")
    }


def test_a_type_in_the_signature_of_a_nested_function_leaves_the_outer_one() -> None:
    """The line is in the body of the outer function, but the diagnostic is not about that body."""
    text = "def outer(x):\n    def inner(\n        y,\n    ):\n        return y\n    return x\n"
    index = ProjectIndex({"a.py": text})
    terms: Terms = {("a.py", each): "int" for each in index.files["a.py"].source.slots}
    (bad,) = (key for key in terms if key[1].name == "y")

    def added_by(annotations: Terms) -> list[Diagnostic]:
        return [Diagnostic("a.py", "valid-type", 3, 1, "y")] if bad in annotations else []

    left = settle(terms, {}, index, added_by, by_function=True)
    assert left == {key: term for key, term in terms.items() if key != bad}


def test_a_type_that_the_signature_may_not_have_leaves_the_others() -> None:
    """The body was not read before, but the diagnostic is about a type and not about the body."""
    index = ProjectIndex({"a.py": "def f(a, b):\n    return a\n"})
    every = {slot.name: ("a.py", slot) for slot in index.files["a.py"].source.slots}
    terms: Terms = {every["a"]: "str", every["b"]: "int", every["return"]: "Handle[str]"}

    def added_by(annotations: Terms) -> list[Diagnostic]:
        message = 'Variable "handles.Handle" is not valid as a type'
        return [Diagnostic("a.py", "valid-type", 1, 1, message)] * (every["return"] in annotations)

    left = settle(terms, {}, index, added_by, by_function=True)
    assert left == {every["a"]: "str", every["b"]: "int"}
