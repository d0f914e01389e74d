"""Callers that tools are known to invent are never `exact`, and the real ones are still there.

The kinds are those of public reports about code graphs: codebase-memory-mcp 2121, 1271 and 2193, and
code-review-graph 984.
"""

import pytest

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project

CASES = {
    "methods of one name on unrelated classes": (
        "class A:\n    def save(self): ...\nclass B:\n    def save(self): ...\n"
        "def use(a: A):\n    a.save()\n",
        "A.save",
        {"use": "exact"},
    ),
    "the other class": (
        "class A:\n    def save(self): ...\nclass B:\n    def save(self): ...\n"
        "def use(a: A):\n    a.save()\ndef other(b: B):\n    b.save()\n",
        "B.save",
        {"other": "exact"},
    ),
    "a receiver without a type": (
        "class A:\n    def ship(self): ...\nclass B:\n    def ship(self): ...\n"
        "def use(thing):\n    thing.ship()\n",
        "A.ship",
        {"use": "possible"},
    ),
    "polymorphic dispatch": (
        "class Base:\n    def run(self): ...\nclass Kid(Base):\n    def run(self): ...\n"
        "def use(base: Base):\n    base.run()\n",
        "Kid.run",
        {"use": "possible"},
    ),
    "an import that is not resolved": (
        "from missing import load\ndef use():\n    load()\n",
        "helper",
        {},
    ),
    "a local name over a function": (
        "def load(): ...\ndef use(load):\n    load()\ndef real():\n    load()\n",
        "load",
        {"real": "exact"},
    ),
    "a private name of a subclass": (
        "class _A:\n    def __go(self): ...\n    def use(self): self.__go()\n"
        "class B(_A):\n    def __go(self): ...\n    def own(self): self.__go()\n"
        "def other(b: B):\n    b._B__go()\n    getattr(b, '_A__go')()\n    b.__go()\n",
        "B.__go",
        {"B.own": "exact", "other": "exact"},
    ),
    "a name that a module loads by a table": (
        "T, N = {'load': '.other'}, {'other': ['f']}\ndef __getattr__(name):\n    return T[name]\n"
        "import m\ndef use():\n    m.load()\ndef no():\n    m.N()\n    m.f()\n    load()\n",
        "load",
        {"use": "inferred"},
    ),
    "a metaclass and other classes": (
        "class M(type):\n    def __call__(cls): ...\nclass N(M): ...\nclass A(metaclass=N): ...\n"
        "class B(A): ...\nclass C: ...\ndef use():\n    B()\ndef no():\n    C()\n    M('a', (), {})\n",
        "M.__call__",
        {"use": "possible"},
    ),
    "a descriptor and other attributes": (
        "class D:\n    def __get__(self, owner, kind): ...\nclass A:\n    d = D()\n    e = int()\n"
        "    @D\n    def f(self): ...\ndef use(a: A):\n    a.d.x\ndef too():\n    A().f()\n"
        "def no(a: A, b):\n    a.d = a.e\n    b.d\n",
        "D.__get__",
        {"use": "possible", "too": "possible"},
    ),
    "a class that a call makes": (
        "class A:\n    def go(self): ...\nclass B:\n    def go(self): ...\n"
        "Kid = type('Kid', (A,), {'stop': B.go})\ndef f(*x): return x\n"
        "def use():\n    Kid().go()\ndef no():\n    f('B', (A,), {}).go()\n    Kid().stop()\n",
        "A.go",
        {"use": "exact"},
    ),
    "a method of a library": (
        "import ext\nclass A:\n    def get(self): ...\ndef use():\n    ext.Client().get()\n",
        "A.get",
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_no_caller_is_invented(case: str) -> None:
    text, name, wanted = CASES[case]
    linker = Linker(Project({"m.py": text, "other.py": "def load(): ...\ndef helper(): ...\n"}))
    path = "m.py" if f"def {name.rpartition('.')[2]}" in text else "other.py"
    callers = linker.callers(f"node:{path}:{name}")
    assert {edge.key.rpartition(":")[2]: edge.tier for edge in callers} == wanted
