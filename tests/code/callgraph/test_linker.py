"""Linker: tiers, lines, owners of calls, and receivers without links."""

from collections.abc import Callable

import pytest

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project, edges


def main(text: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    return edges({"m.py": text}, "m.py:__module__")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("f()\n\nf(f())\n", {"m.py:f": ("exact", (2, 4))}, id="lines of all calls"),
        pytest.param("g = f\ng()\nf()\n", {"m.py:f": ("exact", (3, 4))}, id="best tier"),
        pytest.param(
            "def g(): ...\nx = f\nx()\nx = g\nx()\n",
            {"m.py:f": ("inferred", (4,)), "m.py:g": ("inferred", (6,))},
            id="last assignment",
        ),
    ],
)
def test_an_edge_has_the_lines_and_the_best_tier_of_its_calls(
    text: str, expected: dict[str, tuple[str, tuple[int, ...]]]
) -> None:
    assert main(f"def f(): ...\n{text}") == expected


def test_the_line_of_a_chained_call_is_that_of_the_method_name() -> None:
    text = "class A:\n    def b(self): return self\n\n(A()\n  .b()\n  .b())\n"
    assert main(text)["m.py:A.b"] == ("exact", (5, 6))


def test_a_class_body_belongs_to_the_class_and_a_decorator_to_the_enclosing_scope() -> None:
    text = "def f(g=None): return g\nclass A:\n    x = f()\n    @f\n    def m(self, y=f()): ...\n"
    assert main(text) == {}
    found = edges({"m.py": text}, "m.py:A")
    assert found["m.py:f"] == ("exact", (3, 4, 5))
    assert edges({"m.py": text}, "m.py:A.m") == {}


def test_lambdas_and_comprehensions_belong_to_the_enclosing_node() -> None:
    text = "def f(): ...\ndef g():\n    h = lambda: f()\n    return [f() for _ in range(3)]\n"
    assert edges({"m.py": text}, "m.py:g")["m.py:f"] == ("exact", (3, 4))


def test_a_call_on_self_is_exact_for_the_mro_and_possible_for_overrides() -> None:
    text = (
        "class A:\n    def go(self): self.run()\n    def run(self): ...\n"
        "class B(A):\n    def run(self): ...\n"
    )
    assert edges({"m.py": text}, "m.py:A.go") == {
        "m.py:A.run": ("exact", (2,)),
        "m.py:B.run": ("possible", (2,)),
    }


def visitors(many: int) -> str:
    base = "class V:\n    def see(self): raise NotImplementedError\ndef made() -> V: ...\n"
    below = "".join(f"class V{n}(V):\n    def see(self): ...\n" for n in range(many))
    return f"{base}def f(v: V): v.see()\ndef g(): made().see()\n{below}"


def test_an_abstract_parameter_may_be_of_any_subclass() -> None:
    found = edges({"m.py": visitors(20)}, "m.py:f")
    assert found.pop("m.py:V.see") == ("exact", (4,))
    assert found == {f"m.py:V{n}.see": ("possible", (4,)) for n in range(20)}


def test_an_abstract_result_and_too_many_overrides_give_the_abstract_method() -> None:
    given = edges({"m.py": visitors(20)}, "m.py:g")
    assert {key for key in given if key.endswith(".see")} == {"m.py:V.see"}
    assert edges({"m.py": visitors(60)}, "m.py:f") == {"m.py:V.see": ("exact", (4,))}


def test_an_unknown_receiver_gives_the_unique_method_of_that_name() -> None:
    text = "class A:\n    def polish(self): ...\ndef f(x):\n    x.polish()\n"
    assert edges({"m.py": text}, "m.py:f") == {"m.py:A.polish": ("unique", (4,))}


@pytest.mark.parametrize(
    "line",
    [
        "import other\n    other.polish()",
        "import other\n    other.thing().polish()",
        "open('x').polish()",
        "''.polish()",
        "[].polish()",
    ],
)
def test_external_receivers_are_never_guessed(line: str) -> None:
    text = f"class A:\n    def polish(self): ...\ndef f():\n    {line}\n"
    assert "m.py:A.polish" not in edges({"m.py": text}, "m.py:f")


@pytest.mark.parametrize(
    "name", ["append", "get", "items", "join", "read", "close", "getvalue", "write_text"]
)
def test_names_of_builtin_methods_are_never_guessed(name: str) -> None:
    text = f"class A:\n    def {name}(self): ...\ndef f(x):\n    x.{name}()\n"
    assert edges({"m.py": text}, "m.py:f") == {}


def test_external_callees_have_their_dotted_name() -> None:
    assert main("import os.path as p\nfrom json import dumps as d\np.join(d(len('')))\n") == {
        "ext:os.path.join": ("exact", (3,)),
        "ext:json.dumps": ("exact", (3,)),
        "ext:builtins.len": ("exact", (3,)),
    }


def test_a_branch_that_returns_does_not_reach_later_statements() -> None:
    text = (
        "def f(): ...\ndef g(): ...\ndef h(c):\n    x = g\n"
        "    if c:\n        x = f\n        return 1\n    x()\n"
    )
    assert edges({"m.py": text}, "m.py:h") == {"m.py:g": ("inferred", (8,))}


def test_a_loop_carries_later_values_back() -> None:
    text = (
        "def f(): ...\ndef g(): ...\ndef h():\n    x = f\n"
        "    while True:\n        x()\n        x = g\n"
    )
    assert edges({"m.py": text}, "m.py:h").keys() == {"m.py:f", "m.py:g"}


def test_modules_in_src_and_in_the_same_folder_are_found() -> None:
    files = {
        "src/pkg/__init__.py": "from .a import f as made\n",
        "src/pkg/a.py": "def f(): ...\n",
        "tests/helper.py": "def h(): ...\n",
        "tests/test_a.py": "from pkg import made\nimport helper\nmade()\nhelper.h()\n",
    }
    assert edges(files, "tests/test_a.py:__module__") == {
        "src/pkg/a.py:f": ("exact", (3,)),
        "tests/helper.py:h": ("exact", (4,)),
    }


def test_importers_and_subclasses() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/a.py": "class A: ...\n",
        "pkg/b.py": "from .a import A as Base\nclass B(Base): ...\n",
        "pkg/c.py": "from . import b\nclass C(b.B): ...\n",
    }
    linker = Linker(Project(files))

    def keys(ask: Callable[[str], tuple[object, ...]], key: str) -> list[str]:
        return [getattr(edge, "key", "") for edge in ask(f"node:pkg/{key}")]

    assert keys(linker.importers, "a.py:A") == ["node:pkg/b.py:__module__"]
    assert keys(linker.importers, "b.py:__module__") == ["node:pkg/c.py:__module__"]
    assert keys(linker.subclasses, "a.py:A") == ["node:pkg/b.py:B", "node:pkg/c.py:C"]


@pytest.mark.parametrize("key", ["node:m.py:nothing", "node:none.py:f", "m.py:f", "", "node:"])
def test_an_unknown_node_has_no_links(key: str) -> None:
    linker = Linker(Project({"m.py": "def f(): ...\nf()\n"}))
    for ask in (linker.callees, linker.callers, linker.importers, linker.subclasses):
        assert ask(key) == ()


@pytest.mark.parametrize(
    "text",
    [
        "x = x\nx()\n",
        "def f(): return f()\nf()()\n",
        "def f(g): return g(f)\nf(f)\n",
        "class A(A): ...\nA()\n",
        "class A(B): ...\nclass B(A): ...\nA().m()\n",
        "from m import *\nfrom m import x as x\nx()\n",
        "x = []\nx.append(x)\nfor y in x: y()\n",
        "import m\nm.m.m.f()\n",
        "global x\ndel x\nx()\n",
    ],
)
def test_cycles_terminate(text: str) -> None:
    project = Project({"m.py": text})
    linker = Linker(project)
    assert [linker.callees(key) for key in project.keys]
    assert [linker.callers(key) for key in project.keys]


def test_very_long_and_very_deep_code_is_lowered() -> None:
    chain = "x = a" + ".b()" * 900 + "\n"
    total = "y = " + " + ".join(["a"] * 3000) + "\n"
    branches = "if a: b()\n" + "elif a: b()\n" * 900
    calls = "f(" * 90 + ")" * 90 + "\n"
    text = f"def f(*a): ...\n{chain}{total}{branches}{calls}f()\n"
    last = len(text.splitlines())
    _, lines = main(text)["m.py:f"]
    assert lines[-1] == last
