"""Uses of a node that are not calls: each with its kind, by a program and what it says of `f`."""

import pytest

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project

_HEAD = "import ext\nfrom functools import partial\ndef f(x=None): ...\n"


def uses(files: dict[str, str], key: str) -> set[tuple[str, str, str]]:
    """Return the kind, the user and the tier of each use of a node."""
    found = Linker(Project(files)).uses(f"node:{key}")
    return {(edge.kind, edge.key.removeprefix("node:"), edge.tier) for edge in found}


@pytest.mark.parametrize(
    "line",
    [
        "sorted([], key=f)",
        "[].sort(key=f)",
        "list(map(f, []))",
        "ext.on('a', f)",
        "ext.Thread(\n    target=f,\n).start()",
        "loop.call_soon(f)",
        "loop.call_soon(partial(f, 1))",
        "loop.call_soon(loop, [f])",
        "import atexit\n    atexit.register(f)",
        "import re\n    re.sub('a', f, '')",
        "async def later():\n        ext.gather(f)",
    ],
)
def test_a_function_is_passed_to_code_that_may_call_it(line: str) -> None:
    text = f"{_HEAD}def go(loop):\n    {line}\n"
    user = "m.py:go.later" if "later" in line else "m.py:go"
    assert uses({"m.py": text}, "m.py:f") == {("passed to", user, "exact")}


@pytest.mark.parametrize(
    "line",
    [
        "ROUTES = {'a': f}",
        "a = [f]",
        "a = f.__name__",
        "a = f if ext else None",
        "ext.hook = f",
        "def g(x=f): ...",
        "lambda: f",
        "if ext.x is f: pass",
        "__all__ = ['f']",
        "print(f)",
        "isinstance(f, ext.X)",
        "HANDLERS = []\nHANDLERS.append(f)",
        "class A:\n    def __init__(self, f): ...\nA(f)",
    ],
)
def test_other_uses_are_references(line: str) -> None:
    assert uses({"m.py": f"{_HEAD}{line}\n"}, "m.py:f") == {
        ("reference", "m.py:__module__", "exact")
    }


@pytest.mark.parametrize("line", ["", "f()", "f = 1\nprint(f)", "def g(f): return f", "x = 'f'"])
def test_a_call_or_another_thing_of_the_name_is_no_use(line: str) -> None:
    assert uses({"m.py": f"{_HEAD}{line}\n"}, "m.py:f") == set()


@pytest.mark.parametrize(
    ("decorator", "is_passed"),
    [
        ("@ext.route('/')", True),
        ("@app.route('/')", True),
        ("@ext.command", True),
        ("@property", False),
        ("@partial", False),
        ("@pytest.fixture", False),
        ("@local", False),
        ("@h.setter", False),
    ],
)
def test_a_decorator_of_a_framework_is_passed_the_function(decorator: str, is_passed: bool) -> None:
    text = (
        "import ext, pytest\nfrom functools import partial\ndef local(f): return f\n"
        f"def make(app):\n    def h(): ...\n    {decorator}\n    def f(): ...\n"
    )
    expected = {("passed to", "m.py:make", "exact")} if is_passed else set()
    assert uses({"m.py": text}, "m.py:make.f") == expected


def test_uses_are_found_in_other_files_under_other_names() -> None:
    files = {
        "m.py": _HEAD,
        "a.py": "from m import f as g\nTABLE = [g]\n",
        "b.py": "import m\ndef go(): m.ext.call(m.f)\n",
        "again.py": "from m import f\n",
        "star.py": "from m import *\ndef go(): return f\n",
        "other.py": "from n import f\nTABLE = [f]\n",
    }
    assert uses(files, "m.py:f") == {
        ("reference", "a.py:__module__", "exact"),
        ("passed to", "b.py:go", "exact"),
        ("reference", "again.py:__module__", "exact"),
        ("reference", "star.py:go", "exact"),
    }


def test_a_method_of_an_unknown_receiver_is_possibly_used() -> None:
    text = "class A:\n    def polish(self): ...\n    def go(self, ext): ext(self.polish)\n"
    files = {"m.py": text, "b.py": "def go(x): return x.polish\n"}
    assert uses(files, "m.py:A.polish") == {
        ("passed to", "m.py:A.go", "exact"),
        ("reference", "b.py:go", "possible"),
    }


def test_subclasses_and_overriders_are_uses() -> None:
    files = {
        "a.py": "class Base:\n    def area(self): ...\n",
        "b.py": "import a\nfrom a import Base as B\nclass Kid(a.Base[int]):\n    async def area(self): ...\n"
        "class Other(B, list):\n    class Inner(Kid):\n        def area(self): ...\n",
    }
    assert uses(files, "a.py:Base") == {
        ("inherit", "b.py:Kid", "exact"),
        ("inherit", "b.py:Other", "exact"),
    }
    assert uses(files, "b.py:Kid") == {("inherit", "b.py:Other.Inner", "exact")}
    assert uses(files, "a.py:Base.area") == {
        ("override", "b.py:Kid.area", "exact"),
        ("override", "b.py:Other.Inner.area", "exact"),
    }


def test_annotations_handlers_and_attributes_refer_to_a_class() -> None:
    text = (
        "def g(x: 'A | None') -> A: ...\ndef h(): raise A\ndef i():\n    try: ...\n    except A: ...\n"
        "class A(Exception):\n    def __init__(self): ...\ndef make(): return A()\ndef name(): A.x\n"
    )
    users = ("m.py:__module__", "m.py:h", "m.py:i", "m.py:make", "m.py:name")
    assert uses({"m.py": text}, "m.py:A") == {("reference", user, "exact") for user in users}
