"""Linker: tiers, lines, owners of calls, callers, links of small programs."""

import gc
import time
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.code.callgraph.abstract_values import CLASS, Value
from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.linker import Linker
from remora.code.callgraph.names.search_scope import MAX_BUILTIN_NAME_FILES
from remora.code.callgraph.rules.hierarchy import linearize
from tests.code.callgraph.project import Project, backward, edges, forward


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


_POLISHERS = (
    "class A:\n    def {0}(self): ...\nclass B:\n    def {0}(self): ...\ndef {0}(): ...\n"
    "def wrap(f):\n    async def wrapper(self):\n        await self.{0}()\n    return wrapper\n"
)


@pytest.mark.parametrize("name", ["polish", "close"])
def test_an_unknown_self_gives_all_methods_of_that_name(name: str) -> None:
    assert edges({"m.py": _POLISHERS.format(name)}, "m.py:wrap.wrapper") == {
        f"m.py:A.{name}": ("possible", (8,)),
        f"m.py:B.{name}": ("possible", (8,)),
    }


@pytest.mark.parametrize(
    "line",
    [
        "def f(x): x.polish()",
        "import other\ndef f(): other.all()[0].x.polish()",
        "import collections as c\ndef f(): c.defaultdict(dict)['a'].polish()",
    ],
)
def test_an_unknown_receiver_gives_few_methods_of_that_name(line: str) -> None:
    methods = [f"class A{n}:\n    def polish(self): ..." for n in range(6)]
    few, many = ({"a.py": "\n".join(methods[:n]), "m.py": line} for n in (5, 6))
    assert {tier for tier, _ in edges(few, "m.py:f").values()} >= {"possible"}
    assert not [key for key in edges(many, "m.py:f") if key.startswith("a.py")]


@pytest.mark.parametrize(
    "line",
    [
        "import other\n    other.polish()",
        "import other\n    other.thing().polish()",
        "open('x').polish()",
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


EXTENDED = {
    "pkg/__init__.py": "",
    "pkg/api.py": (
        "from pkg import _fast\ndef first(): ...\ndef use(x):\n    x.refresh()\n"
        "    return first(_fast.make().measure())\n"
    ),
    "pkg/own.py": "class Own:\n    def refresh(self): ...\n",
    "pkg/_fast.pyi": "class Fast:\n    def measure(self): ...\ndef make() -> Fast: ...\n",
}
OTHER_STUB = (
    "from pkg.own import Own\nclass A(Own):\n    def refresh(self): ...\ndef first(): ...\n"
)


@pytest.mark.parametrize("path", ["pkg/api.pyi", "pkg.pyi", "stubs/other/__init__.pyi"])
def test_a_stub_is_linked_only_if_it_is_all_there_is_of_a_module(path: str) -> None:
    files = {**EXTENDED, path: OTHER_STUB}
    assert edges(files, "pkg/api.py:use") == {
        "pkg/_fast.pyi:Fast.measure": ("exact", (5,)),
        "pkg/_fast.pyi:make": ("exact", (5,)),
        "pkg/api.py:first": ("exact", (5,)),
        "pkg/own.py:Own.refresh": ("unique", (4,)),
    }
    linker, own = Linker(Project(files)), "node:pkg/own.py:Own"
    assert (linker.importers(own), linker.subclasses(own)) == ((), ())
    assert len(linker.callers("node:pkg/_fast.pyi:make")) == 1


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


NAMES = ["a", "b", "c"]
TERMS = """\
A; B; A(); B(); A().m; B().n; [a, b]; {'k': a}; lambda: b; a(); b(c); c(x=a); [a][0]; \
{'k': b}['k']; partial(a, b); A(a); B(x=b).x; a if c else b; a or b; [y for y in (a, b)]; \
list((a, c)); getattr(B(), 'n')"""
VALUES = st.sampled_from([*NAMES, *TERMS.split("; ")])
STATEMENTS = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(NAMES), VALUES),
    st.builds("{}()".format, st.sampled_from([*NAMES, "A", "A().m", "B().n", "B().x", "a()"])),
    st.builds("{}({})".format, st.sampled_from([*NAMES, "A", "B().n"]), VALUES),
    st.builds("for c in {}: c()".format, VALUES),
    st.builds("with {} as b: b()".format, VALUES),
    st.builds("A.x = {}".format, VALUES),
    st.builds("B().x = {}".format, VALUES),
    st.builds("a.append({})".format, VALUES),
    st.builds("a['k'] = {}".format, VALUES),
)
RETURNS = st.builds("return {}".format, VALUES) | st.builds("yield {}".format, VALUES)
BODY = st.lists(STATEMENTS | RETURNS, min_size=1, max_size=3)
DECORATORS = st.sampled_from(["", "", "@a", "@b(a)", "@A", "@property", "@classmethod"])


def block(body: list[str], margin: str) -> str:
    return "".join(f"{margin}{line}\n" for line in body)


def function(name: str, decorator: str, body: list[str], margin: str, first: str) -> str:
    head = f"{margin}{decorator}\n" if decorator else ""
    params = ", ".join(filter(None, (first, "x=None", "*args", "**kw")))
    return f"{head}{margin}def {name}({params}):\n{block(body, margin + '    ')}"


def of_class(name: str, base: str, methods: list[tuple[str, str, list[str]]]) -> str:
    parts = [function(n, decorator, body, "    ", "self") for n, decorator, body in methods]
    return f"class {name}{base}:\n" + ("".join(parts) or "    pass\n")


METHODS = st.lists(
    st.tuples(
        st.sampled_from(["m", "n", "__init__", "__call__", "__enter__", "__iter__", "x"]),
        DECORATORS,
        BODY | st.just(["self.x = x", "return self.x()"]) | st.just(["return self.m()"]),
    ),
    max_size=3,
)
PIECES = st.lists(
    st.builds(function, st.sampled_from(NAMES), DECORATORS, BODY, st.just(""), st.just(""))
    | st.builds(of_class, st.sampled_from(["A", "B"]), st.sampled_from(["", "(A)", "(B)"]), METHODS)
    | st.builds(block, st.lists(STATEMENTS, max_size=3), st.just("")),
    min_size=1,
    max_size=6,
)
HEADS = st.sampled_from(
    [
        "",
        "from functools import partial\n",
        "from one import *\n",
        "from two import a, b as c, A\n",
        "import one\nfrom one import B as A\n",
    ]
)
FILES = st.fixed_dictionaries(
    {
        path: st.builds(lambda head, pieces: head + "".join(pieces), HEADS, PIECES)
        for path in ("one.py", "two.py")
    }
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(FILES)
def test_callers_are_the_converse_of_callees(files: dict[str, str]) -> None:
    project = Project(files)
    assert backward(project, Linker(project)) == forward(project, Linker(project))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(FILES, st.randoms(use_true_random=False))
def test_answers_do_not_depend_on_earlier_questions(files: dict[str, str], random: Random) -> None:
    project = Project(files)
    fresh = {key: Linker(project).callees(key) for key in project.keys}
    linker = Linker(project)
    order = list(project.keys)
    random.shuffle(order)
    for key in order:
        linker.callers(key)
        assert linker.callees(key) == fresh[key]


MANY = {
    f"other{number}.py": "def other(x):\n    x.replace()\n"
    for number in range(MAX_BUILTIN_NAME_FILES + 1)
}
OWN = {
    "shape.py": (
        "class Shape:\n"
        "    def replace(self): ...\n"
        "    def again(self):\n"
        "        return self.replace()\n"
        "def shape() -> Shape: ...\n"
    ),
    "near.py": "import shape\ndef near():\n    shape.shape().replace()\n",
    "far.py": "from hub import made\ndef far():\n    made().replace()\n",
    "hub.py": "from shape import shape as made\n",
}
REPLACE = "node:shape.py:Shape.replace"


def callers(files: dict[str, str]) -> set[str]:
    return {edge.key for edge in Linker(Project(files)).callers(REPLACE)}


def test_callers_are_found_in_all_files_that_mention_the_name() -> None:
    assert callers(OWN) == {"node:shape.py:Shape.again", "node:near.py:near", "node:far.py:far"}


def test_for_a_common_name_only_files_that_mention_the_class_or_module_count() -> None:
    assert callers(OWN | MANY) == {"node:shape.py:Shape.again", "node:near.py:near"}


def test_a_node_missing_from_the_callers_does_not_have_it_as_callee() -> None:
    project = Project(OWN | MANY)
    assert backward(project, Linker(project)) == forward(project, Linker(project))
    assert Linker(project).callees("node:far.py:far")[0].key != REPLACE


def test_long_alias_chains_give_the_same_links_in_both_directions() -> None:
    lines = "".join(f"v{number + 1} = v{number}\n" for number in range(200))
    calls = "".join(f"def f{number}():\n    v{number}()\n" for number in range(201))
    project = Project({"m.py": f"def start(): ...\nv0 = start\n{lines}{calls}"})
    found = backward(project, Linker(project))
    assert found == forward(project, Linker(project))
    assert ("node:m.py:f3", "node:m.py:start") in {(a, b) for a, b, *_ in found}


def test_the_cache_keeps_no_more_files_than_its_capacity() -> None:
    calls = "".join(f"def f{n}():\n    room{n}.g()\n" for n in range(8))
    imports = "".join(f"import room{n}\n" for n in range(8))
    project = Project(
        {f"room{number}.py": f"{imports}def g(): ...\n{calls}" for number in range(8)}
    )
    linker = Linker(project, FileCache(capacity=0), track_inputs=True)
    for key in project.keys:
        linker.links(key)

    gc.collect()
    held = [
        each for each in gc.get_objects() if isinstance(each, IndexedFile) and "room" in each.path
    ]
    assert len(held) <= 2


def test_linkers_of_two_states_share_one_cache() -> None:
    files = FileCache()
    before, now = Project(OWN), Project(OWN | {"near.py": "def near(): ...\n"})
    first, second = Linker(before, files), Linker(now, files)
    for key in now.keys:  # alternate: neither may see files of the other
        assert first.callers(key) == Linker(before).callers(key)
        assert second.callers(key) == Linker(now).callers(key)


def test_a_small_cache_changes_no_answer() -> None:
    project = Project(OWN)
    forgetful = Linker(project, FileCache(capacity=0), max_answers=0)
    assert backward(project, forgetful) == backward(project, Linker(project))


TOOLS = "class A:\n    def run(self): ...\nclass B:\n    def run(self): ...\n"
IMPORTS = "import pytest\nfrom tools import A, B\n"
TEST = "def test_it(tool):\n    tool.run()\n"


def fixture(made: str, *, statement: str = "return", name: str = "tool") -> str:
    return f"@pytest.fixture\ndef {name}():\n    {statement} {made}()\n"


def called(files: dict[str, str], test: str = "test_a.py:test_it") -> set[str]:
    """Return the callees of the test in `tools.py`."""
    found = edges({"tools.py": TOOLS, **files}, test)
    assert {tier for key, (tier, _) in found.items() if key.startswith("tools.py")} <= {
        "inferred",
        "possible",
    }
    return {key.removeprefix("tools.py:") for key in found if key.startswith("tools.py")}


def test_a_fixture_of_the_same_file_provides_its_return_value() -> None:
    assert called({"test_a.py": IMPORTS + fixture("A") + TEST}) == {"A.run"}


def test_a_generator_fixture_provides_its_yielded_value() -> None:
    assert called({"test_a.py": IMPORTS + fixture("A", statement="yield") + TEST}) == {"A.run"}


def test_the_nearest_fixture_wins() -> None:
    outer, inner = IMPORTS + fixture("A"), IMPORTS + fixture("B")
    files = {"conftest.py": outer, "x/conftest.py": inner, "x/test_a.py": TEST}
    assert called(files, "x/test_a.py:test_it") == {"B.run"}
    assert called({"conftest.py": outer, "x/test_a.py": TEST}, "x/test_a.py:test_it") == {"A.run"}
    assert called({"conftest.py": outer, "test_a.py": inner + TEST}) == {"B.run"}


def test_a_fixture_of_another_folder_does_not_count() -> None:
    files = {"x/conftest.py": IMPORTS + fixture("A"), "y/test_a.py": TEST}
    assert called(files, "y/test_a.py:test_it") == set()


def test_a_fixture_may_request_the_fixture_it_overrides() -> None:
    inner = "import pytest\n@pytest.fixture\ndef tool(tool):\n    tool.run()\n    return tool\n"
    files = {"conftest.py": IMPORTS + fixture("A"), "test_a.py": inner + TEST}
    assert called(files, "test_a.py:tool") == {"A.run"}


def test_only_tests_and_fixtures_get_fixtures() -> None:
    text = IMPORTS + fixture("A") + "def other(tool):\n    tool.run()\n"
    assert called({"test_a.py": text}, "test_a.py:other") == set()


def test_tests_call_the_methods_of_fixture_values() -> None:
    files = {"tools.py": TOOLS, "conftest.py": IMPORTS + fixture("A"), "test_a.py": TEST}
    linker = Linker(project := Project(files))
    assert {
        caller for caller, callee, _ in forward(project, linker) if callee.endswith("A.run")
    } == {edge.key for edge in linker.callers("node:tools.py:A.run")}


_BASES = st.lists(st.lists(st.integers(0, 7), max_size=3, unique=True), min_size=1, max_size=8)


def of(number: int) -> Value:
    return (CLASS, "m.py", number)


@given(_BASES)
def test_the_mro_equals_the_one_of_python(bases: list[list[int]]) -> None:
    made: list[type] = []
    orders: list[list[Value]] = []
    for number, listed in enumerate(bases):
        above = [base for base in listed if base < number]
        try:
            made.append(type(str(number), tuple(made[base] for base in above), {}))
        except TypeError:  # Python refuses it; the result still has all bases
            found = linearize(of(number), [orders[b] for b in above], [of(b) for b in above])
            assert set(found) == {of(number), *(v for base in above for v in orders[base])}
            return
        orders.append(
            linearize(of(number), [orders[base] for base in above], [of(b) for b in above])
        )
        assert orders[-1] == [of(int(each.__name__)) for each in made[-1].__mro__[:-1]]


def test_a_class_that_derives_from_itself_appears_once() -> None:
    assert linearize(of(0), [[of(1), of(0)]], [of(1)]) == [of(0), of(1)]


def test_a_chain_of_hundreds_of_classes_is_fast() -> None:
    began = time.process_time()
    order: list[Value] = [of(0)]
    for number in range(1, 800):
        order = linearize(of(number), [order, [of(0)]], [order[0], of(0)])
    assert order[0] == of(799)
    assert time.process_time() - began < 60  # of what would be minutes
