"""The scripts find what the direct path finds, on any file."""

import random
import sysconfig
from pathlib import Path

import msgspec
import pytest

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.errors import ScriptError
from remora.hub.index import script_runner
from remora.hub.index.changed_facts import ScriptedAnalysis, run_actions
from remora.hub.update_rules import (
    ComputeComplexity,
    ExtractSignatures,
    FindTests,
    KnownFile,
    ScanImports,
    UpdateAction,
)
from remora.ids import MODULE

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))

ODD = {
    "parameters": """
def f(a, b: int = 1, /, c=(1, 2), *args: str, d, e: "int" = -1, **kw: dict[str, int]) -> None: ...
def g(a, /): ...
def h(*, a): ...
def i(*args, a=lambda x, *y: x): ...
async def j(self, x=[*range(3)], y={1: 2}, z={1, 2}, w=f"{1}{2!r:>{3}}") -> "list[int]": ...
def k(x=(y := 1), z=1 if True else 2, w=not 1, v=a.b[1:2, ...](c)[0], u=1j, t=b"\\xff"): ...
""",
    "classes": """
class A: ...
class B(A, metaclass=type, **kw): ...
class C(  A ,  Generic[T], *bases): ...
@final
@ decorated ( 1,
    2)
class D: ...
""",
    "docstrings": '''
"""

    The module's own,\x0b\x0cwith odd ends\x85of lines   \u2028and more
second line
"""
def f():
    "\\ud800 a lone surrogate"
def g():
    """"""
def h():
    "   "
def i():
    """\x1c
    first
    """
def j():
    "caf\u00e9 \U0001f40d"
def k():
    f"no docstring"
def l():
    b"none either"
''',
    "branches": """
class A:
    x = [y for y in z if y if not y] if z else {a: b for a, b in c}
    if x:
        def f(self): return 1 if 2 else 3
    class B:
        def g(self): return a and b or c and (d or e)
    def h(self):
        for i in j:
            while k: ...
            else: ...
        else: ...
        try: ...
        except A: ...
        except B: ...
        else: ...
        finally: ...
        def inner():
            assert a and b
        assert a or b, c if d else e
        with a as b, c: ...
        match a:
            case 1: ...
            case [x] if x: ...
            case _: ...
        match a:
            case x: ...
        return lambda: a or b
async def i():
    async for x in y: ...
    return [z async for z in w if z]
""",
    "repeated": """
def f(): ...
def f(a): return a or 1
class f:
    def f(self): ...
    def f(self, x): ...
def __module__(): ...
if a:
    def g(): ...
else:
    def g(x): ...
""",
    "imports": """
import os, sys.path as p
import os
from . import a
from .. import b as c
from ...too.far import d
from .x.y import *
from __future__ import annotations
def f():
    from .inner import z
    try:
        import json
    except ImportError:
        import simplejson as json
""",
    "empty": "",
    "nothing but a comment": "# x\n",
    "deep": "x = " + "(" * 80 + "1" + ")" * 80 + "\ndef f(a=" + "-" * 90 + "1): ...\n",
    "long integer": "def f(a=0x" + "f" * 6000 + ", b: int = 1): ...\n",
    "carriage returns": "def f():\r\n    '''doc\r\nmore'''\r\n    return 1 if 2 else 3\r\n",
}


def by_scripts(path: str, source: bytes) -> FileFacts:
    """The facts, where nothing that scripts find is known before."""
    direct = read_facts(path, source)
    unknown = [
        msgspec.structs.replace(
            node,
            signature="?",
            docstring="?",
            decorators=("?",),
            bases=("?",),
            imports=("?",) if node.qualname == MODULE else None,
            complexity=None if node.qualname == MODULE else -1,
        )
        for node in direct.nodes
    ]
    nodes = tuple(node.qualname for node in unknown)
    actions: list[UpdateAction] = [ExtractSignatures(direct.path, nodes), ScanImports(direct.path)]
    actions += [ComputeComplexity(direct.path, nodes[1:])] if nodes[1:] else []
    blank = msgspec.structs.replace(direct, nodes=tuple(unknown))
    return run_actions(actions, direct, blank)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("path", ["a.py", "src/shop/cart/__init__.py", "my-tools/x/deep/er.py"])
def test_scripts_find_what_the_direct_path_finds_in_odd_files(name: str, path: str) -> None:
    source = ODD[name].encode("utf-8", "surrogatepass")
    direct = read_facts(path, source)
    assert not direct.partial
    assert by_scripts(path, source) == direct


def some_files(count: int) -> list[Path]:
    """A different few in each run would tell nobody which one failed: these are always the same."""
    found = sorted(STANDARD_LIBRARY.rglob("*.py"))
    return random.Random(4).sample(found, count)


def assert_the_same(path: Path) -> None:
    source = path.read_bytes()
    name = path.relative_to(STANDARD_LIBRARY).as_posix()
    direct = read_facts(name, source)
    assert direct.partial or by_scripts(name, source) == direct


@pytest.mark.slow
def test_scripts_find_what_the_direct_path_finds_in_some_of_the_standard_library() -> None:
    for path in some_files(25):
        assert_the_same(path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_scripts_find_what_the_direct_path_finds_in_the_whole_standard_library() -> None:
    for path in sorted(STANDARD_LIBRARY.rglob("*.py")):
        if path.stat().st_size < 400_000 and "site-packages" not in path.parts:
            assert_the_same(path)


BEFORE = b"""import os

class Cart:
    def total(self, items: list) -> int:
        return sum(items)

    def empty(self): ...
"""


def known(source: bytes) -> KnownFile:
    facts = read_facts("cart.py", source)
    return KnownFile(file_hash=facts.file_hash, partial=facts.partial, nodes=facts.nodes)


def test_an_edit_gives_the_facts_of_the_file_as_it_is_now() -> None:
    after = BEFORE.replace(b"sum(items)", b"sum(items) if items else 0").replace(b"os", b"sys")
    scripted = ScriptedAnalysis()
    assert scripted("cart.py", after, known(BEFORE)) == read_facts("cart.py", after)
    assert [type(action) for action in scripted.taken()] == [
        ScanImports,
        ComputeComplexity,
        FindTests,
    ]
    assert scripted.taken() == ()


@pytest.mark.parametrize(
    ("limits", "source"),
    [
        ({"most_nodes": 0}, BEFORE),
        ({}, b"def f(:\n"),
    ],
    ids=["many", "broken"],
)
def test_files_without_scripts_use_the_direct_path(
    limits: dict[str, int], source: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_runner, "_run", None)  # calling it would fail
    scripted = ScriptedAnalysis(**limits)
    before = known(b"def another(): ...\n")
    assert scripted("cart.py", source, before) == read_facts("cart.py", source)


def test_where_a_script_fails_the_direct_result_stands_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise ScriptError("compute_complexity.pym:3: no", kind="runtime")

    monkeypatch.setattr(script_runner, "_run", failing)
    after = BEFORE.replace(b"sum(items)", b"0")
    assert ScriptedAnalysis()("cart.py", after, known(BEFORE)) == read_facts("cart.py", after)
    assert "cart.py: compute_complexity.pym:3: no" in caplog.text


def test_a_result_of_another_shape_is_not_a_result() -> None:
    with pytest.raises(ScriptError, match=r"compute_complexity\.pym: .*qualname"):
        script_runner.compute_complexity(
            ("a",), {"branches": lambda _: [{"qualname": 1, "keyword": "def", "branches": {}}]}
        )
