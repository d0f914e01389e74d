"""Which missing annotations are worth planning, as far as a type checker's answers tell."""

from contextlib import closing

from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.inference import Inference, Settings
from remora.operations.types.ranking.type_candidates import weights

FILES = {
    "labels.py": "def brand():\n    return 'tea'\n",
    "shop.py": "SHELF = []\n\n\ndef keep(lot):\n    SHELF.append(lot)\n",
    "use.py": "from labels import brand\nfrom shop import keep\n\nkeep(brand())\nkeep(brand())\n",
}


def test_a_file_is_planned_if_annotations_of_another_file_say_its_types() -> None:
    """Only once `brand` has a result, its callers say what `keep` gets."""
    with closing(TypeChecker(FILES, {}, minor=11)) as ty:
        inference = Inference(FILES, ty, weights(), Settings(minor=11))
        planned = inference.promising(inference.slots(FILES))
    found = {(path, slot.name): term for (path, slot), term in planned.items()}
    assert found == {
        ("labels.py", "return"): "str",
        ("shop.py", "lot"): "str",
        ("shop.py", "return"): "None",
    }
    assert inference.annotations == {}, "nothing was judged"


def _annotations_of(text: str) -> set[tuple[str, str]]:
    files = {"report.py": text}
    with closing(TypeChecker(files, {}, minor=11)) as ty:
        inference = Inference(files, ty, weights(), Settings(minor=11))
        inference.run(inference.slots(files))
    return {(f"{slot.function}.{slot.name}", t) for (_, slot), t in inference.annotations.items()}


_REPORT = """from typing import Any


class Report:
    def __init__(self, *parts: Any, **options: Any) -> None:
        self.parts = parts

    def open(self, level: Any) -> None:
        print(level)

    def close(self, level: Any) -> None:
        print(level)

    def skip(self, level, *parts, **options):
        print(level)
"""


def test_any_completes_annotated_code() -> None:
    assert {("Report.skip.level", "Any"), ("Report.skip.options", "Any")} <= _annotations_of(
        _REPORT
    )


def test_any_is_left_out_where_most_annotations_are_missing() -> None:
    others = "".join(f"    def turn_{n}(self, a, b, c):\n        return a\n\n" for n in range(9))
    assert _annotations_of(f"{_REPORT}\n{others}") == set(), "nor is the rest of its signature kept"


_BILL = """def split(amount: float):
    return int(amount), round(amount % 1 * 100)


def bill(amount: float):
    whole, cents = split(amount)
    return f"{spelled(whole)} and {spelled(cents)}"


def spelled(count):
    return " ".join(chr(97 + int(each)) for each in str(count))
"""


def test_a_tuple_without_parentheses_and_calls_in_an_f_string_say_what_a_parameter_is() -> None:
    assert {("split.return", "tuple[int, int]"), ("spelled.count", "int")} <= _annotations_of(_BILL)


def test_a_result_that_follows_from_types_which_complete_a_signature_is_found() -> None:
    """`text` is only likely enough together with `times`, and the result needs both."""
    text = "def {}(text='a', times=3):\n    return text.upper() * times\n"
    every = _annotations_of("\n\n".join(map(text.format, ("cry", "shout", "yell"))))
    assert {("cry.text", "str"), ("cry.times", "int"), ("cry.return", "str")} <= every
