"""Types that are never proposed, whatever wrote them."""

import pytest

from remora.judges.rules import first_of
from remora.judges.types.project_index import ProjectIndex
from remora.judges.types.slots import RETURN
from remora.operations.types.calls import Calls
from remora.operations.types.refusals import RULES, Candidate

METHOD = "class Show:\n    def show(self, n, path): pass\n"
TWO_CALLS = "show(1, path=2)\nshow(3, path=4)\n"


def _rule(text: str, slot: str, term: str) -> str:
    """Return the name of the rule that refuses a type in the first function, or nothing."""
    index = ProjectIndex({"shop.py": text})
    function = index.files["shop.py"].functions[0]
    calls = Calls(index).passing(function, slot)
    rule = first_of(RULES, Candidate(function, function.parameter(slot), term, calls))
    assert rule is None or rule.reason
    return rule.name if rule else ""


@pytest.mark.parametrize(
    ("term", "rule"),
    [
        ("int", ""),
        ("int | None", ""),
        ("int | str", ""),
        ("int | str | None", "wide"),
        ("dict[str, int | list[str]]", "wide"),
        ("dict[str, int | None]", ""),
        ("list[Any]", "nothing"),
        ("object", "nothing"),
    ],
)
def test_results(term: str, rule: str) -> None:
    assert _rule("def show(n):\n    return n\n", RETURN, term) == rule


@pytest.mark.parametrize(
    "body",
    ["pass", "...", "'Show.'", "return None", "raise NotImplementedError", "'Show.'\n    pass"],
)
def test_an_empty_function_says_nothing_of_its_result(body: str) -> None:
    assert _rule(f"def show(n):\n    {body}\n", RETURN, "None") == "empty"
    assert _rule(f"def show(n):\n    {body}\n    print(n)\n", RETURN, "None") == ""


@pytest.mark.parametrize(
    ("function", "calls", "rule"),
    [
        ("def show(n, path=False): pass\n", "", "one-call"),
        ("def show(n, path=False): pass\n", "show(1)\nshow(2)\n", "one-call"),
        ("def show(n, path=False): pass\n", "show(1, True)\nshow(2)\n", ""),
        ("def show(n, path=None): pass\n", "show(1, True)\nshow(2)\n", "one-call"),
        ("def show(n, path): pass\n", TWO_CALLS, ""),
        ("def _show(n, path): pass\n", "_show(1, 2)\n", ""),
        ("def _show(n, path=3): pass\n", "_show(1)\n", "one-call"),
        ("class Show:\n    def __init__(self, n, path): pass\n", "Show(1, 2)\nShow(3, 4)\n", ""),
        ("@app.command()\ndef show(n, path): pass\n", TWO_CALLS, "decorated"),
        ("@lru_cache(maxsize=2)\ndef show(n, path): pass\n", TWO_CALLS, ""),
        ("@pytest.fixture\ndef show(n, path): pass\n", TWO_CALLS, ""),
        (METHOD, "Show().show(1, 2)\nbox.show(3, 4)\n", ""),
        (METHOD, "''.show(1, 2)\nshow(3, 4)\nbox.show(5, 6)\n", "one-call"),
        ("def show(n, path): pass\n", "import shop as s\ns.show(1, 2)\nshow(3, 4)\n", ""),
        ("def show(n, path): pass\n", "show(1, 2)\n{}.show(3, 4)\nbox.show(5, 6)\n", "one-call"),
        ("def show(n, path): isinstance(path, str)\n", TWO_CALLS, "tested"),
        ("def show(n, path): isinstance(n, str)\n", TWO_CALLS, ""),
    ],
)
def test_parameters(function: str, calls: str, rule: str) -> None:
    assert _rule(function + calls, "path", "int") == rule


def test_two_types_that_callers_pass_are_not_all() -> None:
    assert _rule(f"def show(n, path): pass\n{TWO_CALLS}", "path", "int | str") == "wide"


def test_callers_of_a_public_function_may_pass_other_containers() -> None:
    text = "def {}(n, path): pass\n{}(1, [2])\n{}(3, [4])\n"
    assert _rule(text.replace("{}", "show"), "path", "list[int] | None") == "container"
    assert _rule(text.replace("{}", "_show"), "path", "list[int]") == ""
