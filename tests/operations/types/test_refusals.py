"""Types that are never proposed, whatever wrote them."""

import pytest

from remora.judges.rules import first_of
from remora.judges.types.project_index import ProjectIndex
from remora.judges.types.slots import RETURN
from remora.operations.types.refusals import RULES, Candidate


def _rule(text: str, slot: str, term: str) -> str:
    """Return the name of the rule that refuses a type in the first function, or nothing."""
    index = ProjectIndex({"shop.py": text})
    function = index.files["shop.py"].functions[0]
    rule = first_of(RULES, Candidate(function, function.parameter(slot), term))
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
    ("function", "rule"),
    [
        ("@app.command()\ndef show(n, path): pass\n", "decorated"),
        ("@lru_cache(maxsize=2)\ndef show(n, path): pass\n", ""),
        ("@pytest.fixture\ndef show(n, path): pass\n", ""),
        ("@app.cache\ndef show(n, path): pass\n", "decorated"),
        ("@cached(ttl=1)\ndef show(n, path): pass\n", "decorated"),
        ("@service\nclass Shop:\n    def show(self, n, path): pass\n", "decorated"),
        ("@app.dataclass\nclass Shop:\n    def show(self, n, path): pass\n", "decorated"),
        ("@dataclass(frozen=True)\nclass Shop:\n    def show(self, n, path): pass\n", ""),
        ("@attrs.define\nclass Shop:\n    def show(self, n, path): pass\n", ""),
        ("class Shop:\n    @show.setter\n    def show(self, path): pass\n", ""),
        ("@functools.wraps(g)\ndef show(n, path): pass\n", ""),
        ("def show(n, path): isinstance(path, str)\n", "tested"),
        ("def show(n, path): isinstance(n, str)\n", ""),
    ],
)
def test_parameters(function: str, rule: str) -> None:
    assert _rule(function, "path", "int") == rule


def test_two_types_that_callers_pass_are_not_all() -> None:
    assert _rule("def show(n, path): pass\n", "path", "int | str") == "wide"


def test_callers_of_a_public_function_may_pass_other_containers() -> None:
    text = "def {}(n, path): pass\n"
    assert _rule(text.replace("{}", "show"), "path", "list[int] | None") == "container"
    assert _rule(text.replace("{}", "_show"), "path", "list[int]") == ""
