"""Callers are the converse of callees, in any order of questions."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project, backward, forward

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


@settings(max_examples=60, deadline=None)
@given(FILES)
def test_callers_are_the_converse_of_callees(files: dict[str, str]) -> None:
    project = Project(files)
    assert backward(project, Linker(project)) == forward(project, Linker(project))


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
