"""Docstrings that contradict their code, and files whose docstrings are corrected."""

import textwrap
from pathlib import Path

import pytest

from remora.code.docstrings.documented_exceptions import ExceptionClasses
from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.docstrings.related_texts import RelatedTexts
from remora.code.extract import parse_module
from remora.code.file_analysis import read_facts
from remora.code.syntax.nodes import Module
from remora.judges.submission import Submission
from remora.operations.base import NEEDS_NAME, NEEDS_WRITER
from remora.operations.docstring.docstring_need import docstring_work
from remora.operations.docstring.docstring_verification import documented, keeps_text, says_more
from remora.operations.docstring.mend import Mend, update_plan
from remora.tools.tree import ToolTree
from tests.counted_steps import steps_of


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
    ("f(full_name: str)", ["name (str): Name."], ["renamed-parameter name"], Mend(renames={"name": "full_name"})),
    ("f(where)", ["inplace: Was."], ["renamed-parameter inplace"], Mend()),
    ("f(a, b, c)", ["a: One.", "b: Two."], ["missing-parameter c"], Mend()),
    ("f(a, b, c)", ["a: One."], [], Mend()),
    ("f(a, b, c)", ["a: One.", "b: Two.", "    c: Three."], [], Mend()),
    ("f(a, **more)", ["a: One.", "b: Two."], [], Mend()),
    ("f(from_)", ["from: One."], [], Mend()),
    ("f(a)", ["a: One.", "gone: Two, but", "in three. It was."], ["unknown-parameter gone"], Mend(removed=frozenset({"gone"}))),
    ("f(a)", ["gone: Two.", "a: One, but", "not two."], ["unknown-parameter gone"], Mend(removed=frozenset({"gone"}))),
    ("f(a, b)", ["a: One.", "gone: Two.", "B is three"], [], Mend()),
    ("f(a, b)", ["a: One.", "gone: Two.", "", "in all cases."], [], Mend()),
    ("f(a, b)", ["a: One.", "gone: Two.", "other - text"], [], Mend()),
    ("f(a)", ["a: One.", "int: Two."], [], Mend()),
]  # fmt: skip


@pytest.mark.parametrize(("header", "lines", "expected", "mend"), PARAMETERS)
def test_parameters(header: str, lines: list[str], expected: list[str], mend: Mend) -> None:
    found = node(f"def {header}:", args(*lines))
    assert codes(found) == expected
    assert update_plan(found).mend == mend


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def wrap(func):\n    return func\nreturn wrap", []),
        ("def wrap(g):\n    def inner(*, func): ...\n    return inner\nreturn partial(wrap)", []),
        ("class Wrap:\n    def __call__(self, func): ...\nreturn Wrap()", []),
        ("return lambda func: func", []),
        ("def wrap(func): ...\nwrap(1)", ["unknown-parameter func"]),
    ],
)
def test_parameters_of_what_is_returned(body: str, expected: list[str]) -> None:
    assert codes(node("def f(limit):", args("limit: Most.", "func: What."), body)) == expected


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


OUTDATED = '''def total(price):
    """Return the total.

    Args:
        prize: What one costs.
    """
    return 2 * price
'''


CURRENT = '''def total_{0}(price):
    """Return the total.

    Args:
        price: What one costs, {0}.
    """
    return 2 * price


def other_{0}(price): ...
'''


def steps_of_planning(root: Path, files: dict[str, str]) -> int:
    """Return how many steps it takes to plan some files."""
    modules = []
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        modules.append(parse_module(path, text.encode()))

    def plan() -> None:
        amount = docstring_work(ToolTree(root), [], {"open": True})
        for module in modules:
            assert isinstance(module, Module)
            assert [amount(module, node) for node in module.nodes][:3] == [0, 0, 1]

    return steps_of(plan)


@pytest.mark.parametrize("form", ["{0}/a.py", "folder/{0:03}.py", "one.py"])
def test_planning_grows_with_the_project(tmp_path: Path, form: str) -> None:
    def measured(number: int) -> int:
        files: dict[str, str] = {}
        for each in range(number):
            path = form.format(each)
            files[path] = files.get(path, "") + CURRENT.format(f"{number}_{each}")
        return steps_of_planning(tmp_path / str(number), files)

    measured(10)
    assert measured(80) < 2.5 * measured(40)


def test_planning_a_large_file_takes_linearly_many_steps(tmp_path: Path) -> None:
    def steps(number: int) -> int:
        text = "".join(
            OUTDATED.replace("total(price)", f"f{n}(price, v{n})") for n in range(number)
        )
        (tmp_path / f"m{number}.py").write_text(text)
        module = parse_module(f"m{number}.py", text.encode())
        assert isinstance(module, Module)
        amount = docstring_work(ToolTree(tmp_path), [], {"open": True})
        amount(module, module.nodes[1])  # reads the file
        found: set[object] = set()
        count = steps_of(lambda: found.update(amount(module, node) for node in module.nodes[1:]))
        assert found == {1}
        return count

    assert steps(100) < 2.5 * steps(50)


@pytest.mark.parametrize(
    ("body", "listed"),
    [
        ("raise E{0}", "    Raises:\n        E{0}: Bad.\n"),
        ("raise E{0}", "    Raises:\n        F{0}: Bad.\n"),
        ("a = 1", "    Args:\n        renamed_{0}: It.\n"),
    ],
    ids=["raised", "not raised", "renamed"],
)
def test_planning_a_long_docstring_takes_linearly_many_steps(body: str, listed: str) -> None:
    def steps(number: int) -> int:
        title, entry = listed.split("\n", 1)
        entries = "".join(entry.format(n) for n in range(number))
        lines = "".join(f"    if a: {body.format(n)}\n" for n in range(number))
        names = ", ".join(f"{'abcdefghij'[n % 10]}_{n}_new" for n in range(number))
        text = f'def f(a, {names}):\n    """Do it.\n\n{title}\n{entries}    """\n{lines}'
        bases = "".join(f"class E{n}(E{n + 1}): ...\n" for n in range(number))
        classes = ExceptionClasses(lambda: [f"{bases}class E{number}(Exception): ...\n".encode()])
        related = RelatedTexts(classes=classes)
        found = find_documented("a.py", text.encode(), "f", related)
        count = steps_of(lambda: found.contradictions)
        assert found.contradictions is not None
        return count

    steps(10)
    assert steps(240) < 2.6 * steps(120)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("shop/cart.py", 1), ("shop/_vendor/cart.py", 0), ("tests/test_cart.py", 0)],
)
def test_tests_and_copied_code_are_left_alone(tmp_path: Path, path: str, expected: int) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(OUTDATED)
    module = parse_module(path, OUTDATED.encode())
    assert isinstance(module, Module)
    assert docstring_work(ToolTree(tmp_path), [module], {})(module, module.nodes[1]) == expected


NOT_ASKED = "without a docstring, which a small model is not asked for"


@pytest.mark.parametrize(
    ("named", "expected"),
    [(False, [0, NEEDS_NAME, NOT_ASKED, NEEDS_WRITER]), (True, [0, 1, NOT_ASKED, NEEDS_WRITER])],
)
def test_a_small_model_writes_missing_docstrings_only_where_they_are_named(
    tmp_path: Path, named: bool, expected: list[object]
) -> None:
    told = args("a: One.", "b: Two.").replace("\n", "\n    ")
    source = f'def f(a): return a\ndef g(): raise OSError\ndef h(a, b, c):\n    """{told}"""\n'
    (tmp_path / "a.py").write_text(source)
    module = parse_module("a.py", source.encode())
    assert isinstance(module, Module)
    options = {"open": True, "guided": True, "named": named}
    amount = docstring_work(ToolTree(tmp_path), [module], options)
    assert [amount(module, node) for node in module.nodes] == expected


STACK = """import collections.abc


class Stack(collections.abc.MutableMapping):
    def clear(self): ...

    def peek(self): ...


class Narrow(Stack):
    def pop(self, key): ...
"""


def test_methods_that_inherit_a_docstring_need_none(tmp_path: Path) -> None:
    """Also from `collections.abc`, through a class of the file that has no such method."""
    (tmp_path / "stack.py").write_text(STACK)
    module = parse_module("stack.py", STACK.encode())
    assert isinstance(module, Module)
    amount = docstring_work(ToolTree(tmp_path), [module], {"open": True})
    lacking = [node.qualname for node in module.nodes if amount(module, node)]
    assert lacking == ["Stack", "Stack.peek", "Narrow"]


def outdated(header: str, docstring: str, body: str = "return 1") -> bool:
    inside = f'"""Do it.\n\n{textwrap.dedent(docstring).strip()}\n"""\n{body}'
    source = f"{header}\n{textwrap.indent(inside, '    ')}\n"
    node = read_facts("a.py", source.encode()).nodes[1]
    assert node.docstring == "Do it."
    return node.docstring_outdated


def listed(style: str, *names: str) -> str:
    match style:
        case "google":
            return "Args:\n" + "".join(f"    {name} (int): Some {name}.\n" for name in names)
        case "numpy":
            return "Parameters\n----------\n" + "".join(f"{n} : int\n    A {n}.\n" for n in names)
        case _:
            return "".join(f":param int {name}: some {name}\n" for name in names)


STYLES = pytest.mark.parametrize("style", ["google", "numpy", "rest"])


@STYLES
@pytest.mark.parametrize(
    ("header", "names", "expected"),
    [
        ("def f(a, b):", ("a", "b"), False),
        ("def f(a, b, c):", ("a", "b"), True),
        ("def f(a, b):", ("a",), False),
        ("def f(a):", ("a", "b"), True),
        ("def f(a, c):", ("a", "b"), True),
        ("def f(self, a):", ("a",), False),
        ("def f(cls, a):", ("a",), False),
        ("def f(a, _b):", ("a",), False),
        ("def f(a, *args, **kwargs):", ("a",), False),
        ("def f(a, **kwargs):", ("a", "b"), False),
        ("def f(a, *args):", ("a", "b"), False),
        ("def f(a, *args, **kwargs):", ("a", "*args", "**kwargs"), False),
        ("async def f(a, /, b, *, c):", ("a", "b", "c"), False),
        ("async def f(a, /, b, *, c):", ("a", "b"), True),
    ],
)
def test_outdated_parameters(
    style: str, header: str, names: tuple[str, ...], expected: bool
) -> None:
    assert outdated(header, listed(style, *names)) is expected


@pytest.mark.parametrize(
    ("header", "docstring", "expected"),
    [
        ("def f(a, b):", "Args:\n    a, b: Both.", False),
        ("def f(a, b):", "Parameters\n----------\na, b : int\n    Both.", False),
        ("def f(a):", "Args:\n    a: One.\n        gone: is the rest of it.", False),
        ("def f(a):", "Args:\n    a: One.\n    and then more text.", False),
        ("def f(a):", "Args:\n    a: One.\n    Note: more text.", False),
        ("def f(a):", "Args:\n    `a`: One.\n\n    b (list[int], optional): Two.", True),
        ("def f(a):", "Args:\n    a: One.\n\nExample:\n    b: is no parameter", False),
        ("def f(a):", "Parameters\n----------\na\n    One.\n\nNotes\n-----\nb : no", False),
        ("def f(a):", "Keyword Args:\n    b: Two.", True),
        ("def f(a):", ":param a: one\n:type a: int\n:param b: two", True),
        ("def f(a):", ":param a: one: with a colon\n:returns: b: two", False),
        ("def f(a):", "It takes these args: b, c.", False),
        ("def f(a):", "Args: b, c", False),
    ],
)
def test_lists_of_parameters(header: str, docstring: str, expected: bool) -> None:
    assert outdated(header, docstring) is expected


RETURNS = ("Returns:\n    A number.", "Returns\n-------\nint\n    A number.", ":returns: a number")
YIELDS = ("Yields:\n    A number.", "Yields\n------\nint\n    A number.", ":yields: a number")


@pytest.mark.parametrize("docstring", RETURNS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", False),
        ("print(1)", True),
        ("return", False),
        ("return None", False),
        ("if a:\n    return\nfor b in c:\n    return b", False),
        ("def g():\n    return 1", True),
        ("x = lambda: (yield)", True),
        ("yield 1", False),
        ("raise NotImplementedError", False),
        ("...", False),
        ("pass", False),
        ("raise A()", False),
    ],
)
def test_what_it_returns(docstring: str, body: str, expected: bool) -> None:
    assert outdated("def f():", docstring, body) is expected
    assert not outdated("@abstractmethod\ndef f():", docstring, body)
    assert not outdated("def f() -> int:", docstring, body)
    assert outdated("def f() -> None:", docstring, body) is expected


@pytest.mark.parametrize("docstring", YIELDS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [("yield 1", False), ("yield from a", False), ("return a", False), ("print(1)", True)],
)
def test_what_it_yields(docstring: str, body: str, expected: bool) -> None:
    assert outdated("def f():", docstring, body) is expected


@pytest.mark.parametrize("nothing", ["None", "None: always", "Nothing."])
def test_that_it_returns_nothing_is_not_a_promise(nothing: str) -> None:
    assert not outdated("def f():", f"Returns:\n    {nothing}", "print(1)")
    assert not outdated("def f():", f":returns: {nothing}", "print(1)")


@STYLES
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise ValueError('no')", False),
        ("raise ValueError", False),
        ("raise UnicodeDecodeError", False),
        ("raise OSError", True),
        ("raise OwnError", False),
        ("raise self.error", False),
        ("raise", False),
        ("return int('1')", False),
        ("with a:\n    return 1", False),
        ("yield 1", False),
        ("raise NotImplementedError", False),
        ("raise ValueError from KeyError()", False),
        ("int()\nraise OSError", True),
        ("int()\nraise AssertionError", False),
        ("try:\n    raise OSError\nexcept OSError:\n    int()", False),
    ],
)
def test_what_it_raises(style: str, body: str, expected: bool) -> None:
    docstring = {
        "google": "Raises:\n    ValueError: If not.",
        "numpy": "Raises\n------\nValueError\n    If not.",
        "rest": ":raises ValueError: if not",
    }[style]
    assert outdated("def f():", docstring, body) is expected


def test_an_error_that_any_index_may_raise_says_nothing() -> None:
    assert not outdated("def f(a):", "Raises:\n    KeyError: If not.", "return a[1]")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def __init__(self, a): pass", False),
        ("def __init__(self, b): pass", True),
        ("def __init__(self, b): self.a = b", False),
        ("a: int\ndef __init__(self, b): pass", False),
        ("def __init__(self, **b): pass", False),
        ("a: int", False),
        ("def a(self, b): pass", False),
    ],
)
def test_parameters_of_a_class_are_those_of_its_init(body: str, expected: bool) -> None:
    inside = f'"""Do it.\n\nArgs:\n    a: One.\n"""\n{body}'
    source = f"class A:\n{textwrap.indent(inside, '    ')}\n"
    assert read_facts("a.py", source.encode()).nodes[1].docstring_outdated is expected


def test_no_docstring_is_not_outdated() -> None:
    assert not read_facts("a.py", b"def f(a): return 1").nodes[1].docstring_outdated
