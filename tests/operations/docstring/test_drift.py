"""Docstrings that contradict their code, and what is corrected without a writer."""

import textwrap

import pytest

from remora.operations.docstring.docstring_verification import documented, keeps_text, says_more
from remora.operations.docstring.documented_node import DocumentedNode, find_documented
from remora.operations.docstring.mend import Mend, update_plan
from remora.operations.submission import Submission


def node(
    header: str, docstring: str, body: str = "return work(1)", owner: str = ""
) -> DocumentedNode:
    text = textwrap.dedent(docstring).strip()
    inside = f'"""{text}\n"""\n{textwrap.dedent(body).strip()}'
    source = f"{header}\n{textwrap.indent(inside, '    ')}\n"
    if owner:
        source = f"{owner}\n{textwrap.indent(source, '    ')}"
    name = header.partition("def ")[2].partition("(")[0]
    return find_documented("a.py", source.encode(), f"A.{name}" if owner else name)


def codes(found: DocumentedNode) -> list[str]:
    return [f"{each.code} {each.name}".strip() for each in found.contradictions]


def args(*lines: str) -> str:
    return "Do it.\n\nArgs:\n" + "".join(f"    {line}\n" for line in lines)


PARAMETERS = [
    ("f(name)", ["full_name: Who."], ["renamed-parameter full_name"], Mend(renames={"full_name": "name"})),
    ("f(msg)", ["message: Text."], ["renamed-parameter message"], Mend(renames={"message": "msg"})),
    ("f(a, b)", ["a: One.", "b: Two.", "gone: Was."], ["unknown-parameter gone"], Mend(removed=frozenset({"gone"}))),
    ("f(json)", ["path: Path to the json file."], ["renamed-parameter path"], Mend()),
    ("f(paths)", ["path: A place."], ["renamed-parameter path"], Mend()),
    ("f(names: list)", ["name (str): Who."], ["renamed-parameter name"], Mend()),
    ("f(full_name: dict)", ["name (str): Who."], ["renamed-parameter name"], Mend()),
    ("f(full_name: str)", ["name (str): Name."], ["renamed-parameter name"], Mend(renames={"name": "full_name"})),
    ("f(where)", ["inplace: Was."], ["renamed-parameter inplace"], Mend()),
    ("f(a, b, c)", ["a: One.", "b: Two."], ["missing-parameter c"], Mend()),
    ("f(a, b, c)", ["a: One."], [], Mend()),
    ("f(a, b, c)", ["a: One.", "b: Two.", "    c: Three."], [], Mend()),
    ("f(a, **more)", ["a: One.", "b: Two."], [], Mend()),
    ("f(from_)", ["from: One."], [], Mend()),
    ("f(a)", ["a: One.", "int: Two."], [], Mend()),
]  # fmt: skip


@pytest.mark.parametrize(("header", "lines", "expected", "mend"), PARAMETERS)
def test_parameters(header: str, lines: list[str], expected: list[str], mend: Mend) -> None:
    found = node(f"def {header}:", args(*lines))
    assert codes(found) == expected
    assert update_plan(found).mend == mend


def test_a_text_in_the_body_is_a_parameter_only_if_other_keywords_are_accepted() -> None:
    docstring, body = args("a: One.", "gone: Two."), "return work(a, 'gone')"
    assert codes(node("def f(a):", docstring, body)) == ["unknown-parameter gone"]
    assert codes(node("def f(a, **more):", docstring, body)) == []


def test_a_parameter_that_the_list_leaves_out_needs_a_writer() -> None:
    fields = ":param a: One.\n:type a: int\n:param b: Two.\n:type b: int\n"
    found = node("def f(a, b, c):", f"Do it.\n\n{fields}")
    assert codes(found) == ["missing-parameter c"]
    assert update_plan(found).left == ("parameters.c",)


def without_result(docstring: str, body: str = "work(a)", owner: str = "") -> list[str]:
    return codes(node("def f(self, a):", docstring, body, owner))


@pytest.mark.parametrize(
    "docstring",
    [
        "Returns dataset from a CSV stream.",
        "Return the box.",
        "Do it.\n\nReturns:\n    The box.\n",
        "Do it.\n\n:return: The box.\n",
        "Do it.\n\n@return: the box\n",
    ],
)
def test_a_documented_result_of_a_function_without_one(docstring: str) -> None:
    assert without_result(docstring) == ["no-result"]
    assert without_result(docstring, owner="class A:") == ["no-result"]
    assert without_result(docstring, "yield work(a)") == []
    assert without_result(docstring, "work(a)\nraise NotImplementedError") == []
    assert without_result(docstring, owner="class A(Other):") == []


@pytest.mark.parametrize(
    "summary", ["Return to the start.", "Returns nothing.", "Returns without a result."]
)
def test_summaries_that_do_not_name_a_result(summary: str) -> None:
    assert without_result(summary) == []


RAISES = "Do it.\n\nRaises:\n    TypeError: If odd.\n"


@pytest.mark.parametrize(
    ("body", "owner", "expected"),
    [
        ("if a:\n    raise KeyError", "", ["missing-exception KeyError"]),
        ("if work(a):\n    raise KeyError", "", ["missing-exception KeyError"]),
        ("if a:\n    raise OwnError", "", []),
        ("pass; a = 1", "", []),
        ("raise NotImplementedError", "", []),
    ],
)  # fmt: skip
def test_exceptions(body: str, owner: str, expected: list[str]) -> None:
    found = node("def f(a):", RAISES, body, owner)
    assert sorted(codes(found)) == expected
    assert not update_plan(found).mend


@pytest.mark.parametrize("name", ["None", "NotImplemented", "Ellipsis", "True"])
def test_a_documented_exception_that_is_not_a_class(name: str) -> None:
    found = node("def f(a):", f"Do it.\n\nRaises:\n    {name}: If odd.\n", "raise ValueError")
    assert "missing-exception ValueError" in codes(found)


def test_nothing_is_removed_from_a_method_that_may_be_overridden() -> None:
    docstring = args("a: One.", "b: Two.", "gone: Was.")
    found = node("def f(self, a, b):", docstring, owner="class A:")
    assert codes(found) == ["unknown-parameter gone"]
    assert not update_plan(found).mend
    assert update_plan(node("def __init__(self, a, b):", docstring, owner="class A:")).mend


@pytest.mark.parametrize(
    ("decorator", "expected", "removes"),
    [
        ("lru_cache(maxsize=1)", ["unknown-parameter gone"], True),
        ("registered", ["unknown-parameter gone"], False),
        ('renamed(gone="b")', [], False),
        ('with_names("a, gone")', [], False),
    ],
)
def test_a_decorator_may_add_the_parameter(
    decorator: str, expected: list[str], *, removes: bool
) -> None:
    docstring = args("a: One.", "b: Two.", "gone: Was.")
    found = node(f"@{decorator}\ndef f(a, b):", docstring)
    assert codes(found) == expected
    assert bool(update_plan(found).mend) == removes


def test_the_line_of_a_contradiction_counts_continued_lines() -> None:
    source = 'def f(a):\n    """\\\n    Do it.\n\n    Args:\n        gone: Was.\n    """\n'
    found = find_documented("a.py", source.encode(), "f")
    assert [found.line_of(each.line) for each in found.contradictions] == [6]


def submission(before: str, after: str) -> Submission:
    return Submission(
        path="a.py",
        node_id="node:a.py:get_count",
        node_name="get_count",
        qualname="get_count",
        files={"a.py": (before.encode(), after.encode())},
        findings_before=lambda _: [],
        findings_after=lambda _: [],
        names=lambda *_: [],
    )


KEPT = '''def get_count(name):
    """Count what is there.

    Args:
        full_name: Who.
        gone: Was.
    """
'''


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("full_name", "name", ""),
        ("        gone: Was.\n", "", ""),
        ("Who.", "Whose.", "deletes 'Who'"),
        ("Count what", "Count all", "deletes 'what'"),
        ("Who.", "Who. It is new.", ""),
    ],
)
def test_words_of_people_are_kept(old: str, new: str, problem: str) -> None:
    assert keeps_text(submission(KEPT, KEPT.replace(old, new))).startswith(problem)
    assert bool(problem) == bool(keeps_text(submission(KEPT, KEPT.replace(old, new))))


def test_words_of_an_entry_that_stays_may_be_beside_those_of_a_removed_one() -> None:
    """A comparison may take the second `param` for the deleted one."""
    text = "Count.\n\n:param name:\n    Who.\n:param gone:\n    Was.\n:param last:\n    One."
    before = f'def get_count(name, last):\n    """{text}"""\n'
    after = before.replace(":param gone:\n    Was.\n", "")
    assert keeps_text(submission(before, after)) == ""


def test_the_new_contradiction_is_the_reason() -> None:
    before = KEPT.replace("name)", "name, count=1)").replace(
        "full_name: Who", "count: Defaults to 1"
    )
    after = before.replace("gone: Was.", "gone: Was.\n        lost: Was.")
    assert "parameter `lost` is" in documented(submission(before, after))
    assert documented(submission(after, before)) == ""


@pytest.mark.parametrize(
    ("summary", "says"),
    [
        ("Get the count.", False),
        ("Return the counts of the item with the name.", False),
        ("Return the number of books on the shelf.", True),
    ],
)
def test_a_summary_of_the_names_alone_is_refused(summary: str, says: bool) -> None:
    code = "def get_count(name: Item):\n    {}return 1\n"
    written = code.format(f'"""{summary}"""\n    ')
    assert (says_more(submission(code.format(""), written)) == "") is says
