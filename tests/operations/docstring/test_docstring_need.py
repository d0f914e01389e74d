"""Files whose docstrings are corrected."""

from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.docstring.docstring_need import docstring_work
from remora.operations.docstring.documented_exceptions import ExceptionClasses
from remora.operations.docstring.documented_node import find_documented
from remora.operations.docstring.related_texts import RelatedTexts
from remora.tools.tree import ToolTree
from tests.counted_steps import steps_of

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
