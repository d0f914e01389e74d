"""Resolution of calls by the rules of Python: MROs, subscripted classes, conditions and so on."""

import pytest

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project, backward, forward


def callers(text: str, name: str) -> dict[str, str]:
    """Return the callers of a node of `m.py`, with their tiers. Both directions agree."""
    project = Project({"m.py": text})
    found = forward(project, Linker(project))
    assert backward(project, Linker(project)) == found
    key = f"node:m.py:{name}"
    return {
        caller.removeprefix("node:m.py:"): edge.tier
        for caller, callee, edge in found
        if callee == key
    }


def two_callers(text: str) -> tuple[dict[str, str], dict[str, str]]:
    return callers(text, "A.go"), callers(text, "B.go")


CHAIN = """
class A:
    def go(self): ...
class B(A):
    def go(self): ...
class C(B):
    def go(self): super({}).go()
"""


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("", ({}, {"C.go": "exact"})),
        ("C, self", ({}, {"C.go": "exact"})),
        ("B, self", ({"C.go": "exact"}, {})),
        ("self.x, self", ({"C.go": "possible"}, {"C.go": "possible"})),
    ],
)
def test_super_begins_behind_its_class(
    start: str, expected: tuple[dict[str, str], dict[str, str]]
) -> None:
    assert two_callers(CHAIN.format(start)) == expected


SIBLINGS = """
class A:
    def go(self): super().go()
class B:
    def go(self): ...
class Both({}):
    {}
"""


def test_super_continues_in_the_siblings_of_a_subclass() -> None:
    assert callers(SIBLINGS.format("A, B", "pass"), "B.go") == {"A.go": "inferred"}
    assert callers(SIBLINGS.format("B, A", "pass"), "B.go") == {}


def test_a_subclass_that_does_not_reach_the_method_has_no_siblings() -> None:
    own = SIBLINGS.format("A, B", "def go(self): ...")
    assert callers(own, "B.go") == {}
    assert callers(own.replace("...", "super().go()"), "A.go") == {"Both.go": "exact"}


DIAMOND = """
class A:
    def go(self): ...
class L(A):
    def go(self): super().go()
class R(A):
    def go(self): super().go()
class Both(L, R): ...
"""


def test_a_sibling_is_possible_where_the_base_is_exact() -> None:
    assert callers(DIAMOND, "A.go") == {"L.go": "exact", "R.go": "exact"}
    assert callers(DIAMOND, "R.go") == {"L.go": "possible"}


BOX = """
import enum
class A:
    def __init__(self): ...
    def __getitem__(self, key): ...
    def go(self): ...
    @classmethod
    def make(cls): return cls()
IntA = A[int]
class Color(enum.Enum):
    RED = 1
    def show(self): ...
def f(x: IntA, y):
    """


@pytest.mark.parametrize(
    "call", ["A[int]().go()", "A['B']().go()", "A[int, str].make().go()", "IntA().go()", "x.go()"]
)
def test_a_subscripted_class_is_the_class(call: str) -> None:
    assert callers(BOX + call, "A.go").keys() == {"f"}
    assert callers(BOX + call, "A.__getitem__") == {}


def test_an_instance_or_an_enum_is_not_a_subscripted_class() -> None:
    assert callers(BOX + "A()[0]", "A.__getitem__") == {"f": "exact"}
    for call in ("Color['RED'].show()", "Color[y].show()"):
        assert callers(BOX + call, "Color.show") == {"f": "inferred"}


def test_what_python_calls_instead_of_a_missing_special_method() -> None:
    text = "class A:\n    def __len__(self): ...\n    def __eq__(self, other): ...\n"
    calls = f"{text}def f(): bool(A())\ndef g(x): A() != x\ndef h(x): A() == x\n"
    assert callers(calls, "A.__len__") == {"f": "inferred"}
    assert callers(calls, "A.__eq__") == {"g": "exact", "h": "exact"}
    own = calls.replace("def f", "    def __ne__(self, other): ...\ndef f")
    assert callers(own, "A.__eq__") == {"h": "exact"}


def test_a_subscripted_class_runs_its_own_method() -> None:
    text = "class A:\n    def __class_getitem__(cls, item): return cls\ndef f(): A[int]\n"
    assert callers(text, "A.__class_getitem__") == {"f": "exact"}


TYPES = """
class A:
    def go(self): ...
class B:
    def go(self): ...
async def f(x, y, self):
    """

IS_A = [
    "if isinstance(x, A): x.go()",
    "if not isinstance(x, A): raise TypeError\n    x.go()",
    "if not isinstance(x, A): return\n    elif x.go(): x = y",
    "if not isinstance(x, A): y()\n    else: x.go()",
    "if y and isinstance(x, A) and y.z: x.go()",
    "if not y or not isinstance(x, A): return\n    x.go()",
    "if isinstance(x, B): pass\n    elif isinstance(x, A): x.go()",
    "isinstance(x, A) and x.go()",
    "return not isinstance(x, A) or x.go()",
    "x.go() if isinstance(x, A) else y",
    "y if not isinstance(x, A) else await x.go()",
    "[z.go() for z in x if isinstance(z, A)]",
    "{z: x.go() for z in y if isinstance(x, A) if x.go()}",
    "lambda z: isinstance(z, A) and z.go()",
    "assert isinstance(x, A)\n    x.go()",
    "while isinstance(x, A): x.go()",
    "for z in x:\n        if not isinstance(z, A): continue\n        z.go()",
    "async for z in x:\n        if not isinstance(z, A): break\n        z.go()",
    "if isinstance(x.y, A): x.y.go()",
    "if isinstance(self.y, A): self.y.go()",
    "if isinstance(x, y) or isinstance(self.y, A) and self.y.go(): ...",
    "if type(x) is A: x.go()",
    "if isinstance(z := y(), A): z.go()",
    "match x:\n        case z if isinstance(z, A): z.go()",
    "match x:\n        case A(): x.go()",
]


@pytest.mark.parametrize("body", IS_A)
def test_a_condition_narrows_a_type(body: str) -> None:
    assert two_callers(TYPES + body) == ({"f": "inferred"}, {})


@pytest.mark.parametrize(
    "body",
    [
        "if isinstance(x, A | B): x.go()",
        "if isinstance(x, (A, B)): x.go()",
        "if isinstance(x, A) or isinstance(x, B): x.go()",
        "if not isinstance(x, A) and not isinstance(x, B): return\n    x.go()",
    ],
)
def test_a_condition_may_name_several_types(body: str) -> None:
    assert two_callers(TYPES + body) == ({"f": "possible"}, {"f": "possible"})


@pytest.mark.parametrize(
    "body",
    [
        "if isinstance(x, A): pass\n    x.go()",
        "if isinstance(x, A): pass\n    else: x.go()",
        "if isinstance(x, A): pass\n    elif x.go(): pass",
        "if not isinstance(x, A): y()\n    x.go()",
        "if isinstance(x, A) or y: x.go()",
        "isinstance(x, A) or x.go()",
        "isinstance(x, A) and y\n    x.go()",
        "assert isinstance(x, A)\n    x = y\n    x.go()",
        "assert isinstance(x.y, A)\n    x.y = y\n    x.y.go()",
        "assert isinstance(x.y, A)\n    x = y\n    x.y.go()",
        "if isinstance(x, A):\n        x = y\n    x.go()",
        "if isinstance(x, A):\n        for x in y: x.go()",
        "[z for z in y if isinstance(x, A)]\n    x.go()",
        "assert isinstance(x.y, A)\n    x.go()",
    ],
)
def test_a_condition_says_nothing_elsewhere(body: str) -> None:
    assert two_callers(TYPES + body) == ({"f": "possible"}, {"f": "possible"})


DATACLASS = """
from dataclasses import dataclass, field
class Base:
    def __init__(self): ...
def go(): return []
@dataclass
class A(Base):
    xs: list = field(default_factory=go)
    def __post_init__(self): ...
@dataclass
class Kid(A):
    n: int = 0
class Own(A):
    def __init__(self): ...
@dataclass(init=False)
class Late(Base): ...
class Plain:
    def __post_init__(self): ...
def f(): return {}()
"""


@pytest.mark.parametrize("name", ["A", "Kid"])
def test_a_generated_constructor_runs_what_a_dataclass_defines(name: str) -> None:
    text = DATACLASS.format(name)
    assert callers(text, "A.__post_init__") == {"f": "exact"}
    assert callers(text, "Base.__init__") == {}
    assert callers(text, name) == {"f": "exact"}


def test_a_default_factory_is_possible() -> None:
    assert callers(DATACLASS.format("A"), "go") == {"f": "possible"}


@pytest.mark.parametrize("name", ["Own", "Plain"])
def test_only_a_generated_constructor_does(name: str) -> None:
    text = DATACLASS.format(name)
    assert callers(text, f"{'A' if name == 'Own' else 'Plain'}.__post_init__") == {}
    assert callers(DATACLASS.format("Late"), "Base.__init__") == {"f": "exact"}


def test_creating_an_instance_runs_new() -> None:
    text = "class A:\n    def __new__(cls): ...\ndef f(): A()\n"
    assert callers(text, "A.__new__") == callers(text, "A") == {"f": "exact"}


DISPATCH = """
import functools
@functools.singledispatch
def go(x): ...
@go.register
def _(x: int): ...
@go.register(str)
def of_text(x): ...
def of_list(x): ...
go.register(list, of_list)
class A:
    @functools.singledispatchmethod
    def go(self, x): ...
    @go.register
    def _(self, x: int): ...
    @go.register(str)
    @classmethod
    def of_text(cls, x): ...
def f(x): go(x)
def g(x): A().go(x)
"""


@pytest.mark.parametrize("name", ["_", "of_text", "of_list"])
def test_a_dispatched_function_may_run_those_that_are_registered(name: str) -> None:
    assert callers(DISPATCH, name) == {"f": "possible"}
    assert callers(DISPATCH, "go") == {"f": "exact"}


@pytest.mark.parametrize("name", ["A._", "A.of_text"])
def test_a_dispatched_method_does_so_too(name: str) -> None:
    assert callers(DISPATCH, name) == {"g": "possible"}
    assert callers(DISPATCH, "A.go") == {"g": "exact"}


BUS = """
import collections
def go(): ...
class A:
    def __init__(self):
        self.handlers = {}
    def on(self, key, handler):
        {}
    async def emit(self, key):
        {}
A().on("key", go)
"""


@pytest.mark.parametrize(
    "add",
    [
        "self.handlers.setdefault(key, []).append(handler)",
        "self.handlers[key].append(handler)",
        "self.handlers.setdefault(key, {})[key] = handler",
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "for handler in self.handlers.get(key, ()): handler()",
        "for handler in list(self.handlers[key]): await handler()",
        "for found in self.handlers.values():\n            for handler in found: handler()",
    ],
)
@pytest.mark.parametrize("made", ["{}", "collections.defaultdict(list)"])
def test_handlers_in_a_container_of_a_container_are_called(made: str, add: str, call: str) -> None:
    assert callers(BUS.replace("{}", "%s") % (made, add, call), "go") == {"A.emit": "inferred"}


VISITOR = """
class A:
    def visit_x(self): ...
    def visit_y(self): ...
    def go(self): ...
class B(A):
    async def visit_x(self): ...
    def f(self, x):
        """


@pytest.mark.parametrize(
    "call",
    [
        "getattr(self, 'visit_' + x)()",
        "getattr(self, f'visit_{x}')()",
        "m = getattr(self, 'visit_%s' % x, None)\n        if m: m()",
        "name = 'visit_{}'.format(x)\n        getattr(self, name)()",
        "getattr(B, 'visit' + x)(self)",
    ],
)
def test_a_name_that_begins_with_a_constant_dispatches_to_the_methods_of_such_names(
    call: str,
) -> None:
    for name in ("A.visit_x", "A.visit_y", "B.visit_x"):
        assert callers(VISITOR + call, name) == {"B.f": "possible"}
    assert callers(VISITOR + call, "A.go") == {}


def test_a_dispatch_may_name_a_function_of_a_module_or_a_default() -> None:
    text = "import m\ndef on_a(): ...\ndef rest(): ...\ndef f(x): "
    assert callers(f"{text}getattr(m, 'on_' + x)()", "on_a") == {"f": "possible"}
    for name in ("'on_' + x", "'on_b'", "x"):
        assert callers(f"{text}getattr(m, {name}, rest)()", "rest") == {"f": "possible"}
    assert callers(f"{text}getattr(m, 'on_a', rest)()", "rest") == {}


OPERATORS = """
class A:
    def __eq__(self, other): ...
    def __gt__(self, other): ...
    def __neg__(self): ...
    def __rmul__(self, other): ...
    def __len__(self): ...
def f(x, y: A):
    """


@pytest.mark.parametrize(
    ("code", "method"),
    [
        ("y == 1", "__eq__"),
        ("1 != y", "__eq__"),
        ("1 < y", "__gt__"),
        ("-y", "__neg__"),
        ("2 * y", "__rmul__"),
        ("not y", "__len__"),
        ("y and x", "__len__"),
        ("if A(): ...", "__len__"),
        ("if x: ...\n    elif y: ...", "__len__"),
        ("while y: ...", "__len__"),
        ("assert y", "__len__"),
        ("x if y else f", "__len__"),
        ("[z for z in x if y]", "__len__"),
    ],
)
def test_an_operator_or_condition_runs_a_special_method(code: str, method: str) -> None:
    assert callers(OPERATORS + code, f"A.{method}") == {"f": "exact"}


@pytest.mark.parametrize("code", ["x and y", "y is None", "if x or y == 1: ..."])
def test_an_operand_that_is_not_tested_runs_nothing(code: str) -> None:
    assert callers(OPERATORS + code, "A.__len__") == {}


def test_the_body_of_a_class_runs_what_python_calls_for_it() -> None:
    text = """
class A:
    def __init_subclass__(cls, **kw): ...
class D:
    def __set_name__(self, owner, name): ...
class B(A, flag=True):
    d = D()
def f():
    d = D()
    class C(B): ...
"""
    assert callers(text, "A.__init_subclass__") == {"B": "exact", "f.C": "exact"}
    assert callers(text, "D.__set_name__") == {"B": "exact"}


@pytest.mark.parametrize("code", ["f(" * 150 + "{})" + ")" * 149, "{}" + ".a" * 300])
def test_deeply_nested_calls_are_not_lost(code: str) -> None:
    text = "def f(x): ...\ndef g(): ...\nclass A:\n    x = {}\n    def go(self, x): return [lambda: {}]"
    code = code.format("g()")
    assert callers(text.replace("{}", code), "g") == {"A": "exact", "A.go": "exact"}


def test_a_call_in_the_brackets_of_an_annotation_runs() -> None:
    text = "def f(): ...\ndef g(x: Callable[[Annotated[int, f()]], int]): ...\n"
    assert callers(text, "f") == {"__module__": "exact"}
