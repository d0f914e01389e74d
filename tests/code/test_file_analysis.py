"""Facts of a file: every field, on real and unusual code, and their version."""

import ast
import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.code.callgraph.linker import Linker
from remora.code.extract import parse_module
from remora.code.file_analysis import package_of, read_facts
from remora.code.file_facts import FACTS_VERSION, FileFacts, NodeFacts
from remora.code.syntax.nodes import Module
from remora.code.syntax.source import Unreadable
from remora.hub.query.snapshots import MemorySnapshot
from remora.ids import MODULE, node_key
from tests.code.corpus import library, tree_of

EXAMPLE = b'''"""A shop."""

import os.path
from typing import Optional, overload
from . import goods as things
from ..bank.money import *


class Cart(Base, Generic[T], metaclass=Meta):
    """What was chosen.

    More."""

    @property
    def total(self) -> int:
        return sum(a.price for a in self.items if a)

    @total.setter
    def total(self, value): pass

    async def pay(self, by: str, *rest: int, **more: str) -> None:
        from .later import pay
        def inner(a: int) -> int: return a


@overload
def f(a: int) -> int: ...
@overload
def f(a: str) -> str: ...
def f(a): return a
'''


def node(source: bytes, qualname: str, path: str = "shop/cart.py") -> NodeFacts:
    return next(each for each in read_facts(path, source).nodes if each.qualname == qualname)


def test_file_facts() -> None:
    facts = read_facts("src/shop/cart.py", EXAMPLE)
    assert (facts.path, facts.partial, facts.detail) == ("src/shop/cart.py", False, "")
    assert facts.file_hash == hashlib.sha256(EXAMPLE).hexdigest()
    assert facts.lowered.path == facts.path
    assert [each.qualname for each in facts.nodes] == [
        *("__module__", "Cart", "Cart.total", "Cart.total#2", "Cart.pay", "Cart.pay.inner"),
        *("f", "f#2", "f#3"),
    ]
    assert all(each.key == f"node:src/shop/cart.py:{each.qualname}" for each in facts.nodes)


def test_module_facts() -> None:
    module = node(EXAMPLE, "__module__", "src/shop/sub/cart.py")
    assert (module.node_name, module.node_type, module.signature) == ("__module__", "module", None)
    assert (module.docstring, module.complexity) == ("A shop.", None)
    assert (module.decorators, module.bases, module.docstring_outdated) == ((), (), False)
    assert (module.line_start, module.line_count) == (1, EXAMPLE.count(b"\n"))
    assert module.imports == (
        *("os.path", "typing.Optional", "typing.overload", "shop.sub.goods"),
        *("shop.bank.money.*", "shop.sub.later.pay"),
    )


def test_class_facts() -> None:
    cart = node(EXAMPLE, "Cart")
    assert (cart.node_name, cart.node_type) == ("Cart", "class")
    assert cart.signature == "class Cart(Base, Generic[T], metaclass=Meta)"
    assert cart.bases == ("Base", "Generic[T]")
    assert (cart.docstring, cart.imports, cart.decorators) == ("What was chosen.", None, ())
    assert (cart.line_start, cart.line_count, cart.complexity) == (9, 15, 3)


def test_function_facts() -> None:
    pay = node(EXAMPLE, "Cart.pay")
    assert (pay.node_name, pay.node_type) == ("pay", "function")
    assert pay.signature == "async def pay(self, by: str, *rest: int, **more: str) -> None"
    assert (pay.docstring, pay.imports, pay.bases) == (None, None, ())
    second = node(EXAMPLE, "Cart.total#2")
    assert (second.node_name, second.decorators) == ("total", ("@total.setter",))
    assert (second.line_start, second.line_count) == (18, 2)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("def f() -> int: pass", True),
        ("def f(): pass", False),
        ("def f(a: int): pass", False),
        ("def f(a) -> int: pass", False),
        ("def f(a: int, /, b: int, *c: int, d: int, **e: int) -> int: pass", True),
        ("def f(a: int, /, b, *c: int, d: int, **e: int) -> int: pass", False),
        ("def f(a: int, *b) -> int: pass", False),
        ("def f(a: int, **b) -> int: pass", False),
        ("def f(a: int, *, b) -> int: pass", False),
        ("def f(self) -> int: pass", True),
        ("def f(cls, a: int) -> int: pass", True),
        ("def f(self, a) -> int: pass", False),
        ("def f(a: int, self) -> int: pass", False),
        ("class f: pass", True),
        ("class f:\n def g(self) -> int: pass", True),
        ("class f:\n def g(self): pass", False),
        ("class f:\n class g:\n  def h(self): pass", False),
        ("class f:\n def g(self) -> int:\n  def h(): pass", True),
    ],
)
def test_type_hints(definition: str, expected: bool) -> None:
    assert node(definition.encode(), "f").has_type_hints is expected
    assert node(definition.encode(), "__module__").has_type_hints is expected


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("a.py", ()),
        ("pkg/a.py", ("pkg",)),
        ("pkg/__init__.py", ("pkg",)),
        ("src/pkg/sub/a.py", ("pkg", "sub")),
        ("libs/one-two/src/pkg/a.py", ("pkg",)),
        ("one-two/pkg/a.py", ("pkg",)),
        ("src/a.py", ()),
    ],
)
def test_a_package_starts_below_src_or_a_folder_that_cannot_be_imported(
    path: str, package: tuple[str, ...]
) -> None:
    assert package_of(path) == package


@pytest.mark.parametrize(
    ("statement", "imports"),
    [
        ("import a, b.c as d", ("a", "b.c")),
        ("from a import b as c, d", ("a.b", "a.d")),
        ("from a.b import *", ("a.b.*",)),
        ("from . import a", ("pkg.sub.a",)),
        ("from .a import b", ("pkg.sub.a.b",)),
        ("from .. import a", ("pkg.a",)),
        ("from ..a import b", ("pkg.a.b",)),
        ("from ...a import b", ("a.b",)),
        ("from ... import a", ("...a",)),
        ("from ....a import b", ("....a.b",)),
        ("import a\nif x:\n import a\n import b", ("a", "b")),
        (
            "try:\n import a\nexcept E:\n import b\nelse:\n import c\nfinally:\n import d",
            tuple("abcd"),
        ),
        ("match a:\n case 1:\n  import b", ("b",)),
    ],
)
def test_imports_are_absolute(statement: str, imports: tuple[str, ...]) -> None:
    assert node(statement.encode(), "__module__", "src/pkg/sub/a.py").imports == imports


ARMS = b"""
import first; import second
try:
    def f(): import inner
    import a
except OSError:
    def f(): ...
    class C:
        def f(self): ...
except ValueError:
    def f(): ...
else:
    def f():
        def f(): ...
        def f(): import c
    import b
finally:
    def f(): ...
match x:
    case 1:
        def f(): ...
    case _:
        class C: ...
def __module__(): ...
"""


def assert_same_nodes(source: bytes) -> None:
    """Compare what the lowering and what the search for definitions find in a file."""
    facts, module = read_facts("a/b.py", source), parse_module("a/b.py", source)
    if tree_of(source) is None:
        assert facts.partial
        return
    assert isinstance(module, Module)
    for ours, theirs in zip(facts.nodes, module.nodes, strict=True):
        for field in set(NodeFacts.__struct_fields__) & set(type(theirs).__struct_fields__):
            assert getattr(ours, field) == getattr(theirs, field), (ours.key, field)


def test_arms_of_a_try_are_numbered_in_source_order() -> None:
    assert_same_nodes(ARMS)
    names = [each.qualname for each in read_facts("a/b.py", ARMS).nodes[1:]]
    assert names[:2] == ["f", "f#2"]
    assert [name for name in names if name.startswith("f#4")] == ["f#4", "f#4.f", "f#4.f#2"]
    assert names[-1] == "__module__#2"


@pytest.mark.parametrize("path", library(step=60), ids=str)
def test_facts_and_nodes_agree(path: Path) -> None:
    assert_same_nodes(path.read_bytes())


@given(
    st.binary()
    | st.text("\n\r\x0c\t def():#'\"\\é\ud800{}@,=classif", max_size=60).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )
)
def test_no_bytes_raise_or_warn(source: bytes) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        facts = read_facts("a.py", source)
        assert parse_module("a.py", source).path == "a.py"
        parse_module("a.py", b"# remora: skip\n" + source)
    assert isinstance(facts, FileFacts)
    assert facts.nodes[0].qualname == "__module__"
    assert facts.partial == bool(facts.detail)
    assert caught == []


TEXT = r'"\udcff"'
SURROGATES = rf'''{TEXT}
import os
__all__ = ["f", {TEXT}]
__all__ += [{TEXT}]
d = {{{TEXT}: f, "a": {TEXT}}}
d[{TEXT}] = f
d[{TEXT}](**{{{TEXT}: d}})
getattr(d, {TEXT})({TEXT})
setattr(d, {TEXT}, f)
@mark({TEXT})
def f(a: {TEXT} = {TEXT}, b: "list[{TEXT[1:-1]}]" = 1) -> {TEXT}:
    {TEXT}
    return getattr(a, {TEXT})
class C({TEXT}, k={TEXT}):
    {TEXT}
    x: {TEXT} = {TEXT}
    __slots__ = ({TEXT},)
match d:
    case {{{TEXT}: a}}: d = f"{TEXT[1:-1]}{{a}}"
'''.encode()


def test_texts_that_are_not_utf8_can_be_stored() -> None:
    """A lone surrogate has an escape in the source, and no bytes in UTF-8."""
    facts = read_facts("a.py", SURROGATES)
    assert (facts.partial, [node.node_name for node in facts.nodes]) == (
        False,
        ["__module__", "f", "C"],
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=FileFacts) is not None
    assert msgspec.json.encode(facts)


LONG = b"__all__ = ['f']" + b" + ['f']" * 1500 + b"\n\ndef f(): pass\n"
FAR = b"import a\n__all__ = a" + b".b" * 1500 + b".__all__\n\ndef f(): pass\n"


@pytest.mark.parametrize("source", [LONG, FAR], ids=["sum", "attributes"])
def test_long_exports_are_evaluated(source: bytes) -> None:
    facts = read_facts("a.py", source)
    assert (facts.partial, [node.qualname for node in facts.nodes]) == (False, ["__module__", "f"])


class TestFaults:
    """An internal error costs the nodes of one file and is not raised."""

    @pytest.fixture(autouse=True)
    def broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def signature(_: ast.AST) -> str:
            raise RecursionError("too deep")

        for module in ("file_analysis", "extract"):
            monkeypatch.setattr(f"remora.code.{module}.signature", signature)

    def test_in_the_facts(self) -> None:
        facts = read_facts("a.py", b"def f(): pass\n")
        assert [node.qualname for node in facts.nodes] == ["__module__"]
        assert facts.file_hash == hashlib.sha256(b"def f(): pass\n").hexdigest()
        assert facts.partial
        assert facts.detail.startswith("a fault in Remora: RecursionError: too deep (")

    def test_in_the_nodes(self) -> None:
        found = parse_module("a.py", b"def f(): return 7\n")
        assert isinstance(found, Unreadable)
        assert found.detail.startswith("a fault in Remora: RecursionError: too deep (")


DIGEST = (19, "5fb1bca9560fddee652616d64f0fd05f241c262b5a6b5e6b9b7f93e865ce0042")
"""Change it only together with the version. The files below must not change."""

EVERYTHING = b'''
"""A module."""
from __future__ import annotations
import os.path as p, sys
from . import near
from .pkg.deep import (thing as other, Base)
from everywhere import *
__all__ = ["f", "C"] + near.__all__
if sys.platform == "linux":
    def f(a, /, b: int = len("x"), *args: str, c=None, **kw) -> list[C]:
        """Does.

        Args:
            a: one
            gone: not there
        """
        x = y = C(a)
        x.go().then(lambda z: z(b), key=[g for g in args if g()])
        d = {"k": f, **kw}
        d["k"](*args, **kw)
        with open(a) as h, x:
            for i, (j, *k) in enumerate(h):
                yield from k(i)
        try:
            return functools.partial(x.m, 1)
        except (OSError, other.Error) as e:
            raise ValueError(f"{e!r:>{b}}") from e
        finally:
            del x.n
else:
    def f(): ...
@decorate(with_=f)
class C(Base[int], metaclass=Meta):
    n: "int" = 1
    def __init__(self, v=None): self.v, self.w = v, super().__init__()
    @property
    def m(self): return self.v.m or self.w
    @m.setter
    def m(self, value): self.v = value
    @overload
    def go(self, a: int) -> C: ...
    @overload
    def go(self, a: str) -> None: ...
    def go(self, a=None):
        match a:
            case {"k": [C(v=q), *rest]} if q(): return rest
            case str() | None: return self
    async def wait(self):
        global state
        async with self as s:
            state = await s.v(), (t := s)
        return [await u async for u in t] if t else not t and s
x = C().go(1).n[0](C.m, ~f(1) + -2)
'''
FILES = {
    "pkg/sub/everything.py": EVERYTHING,
    "src/pkg/__init__.py": EVERYTHING,
    "broken.py": EVERYTHING.replace(b"def m(self, value):", b"def m(self, value:"),
    "empty.py": b"",
    "bytes.py": b"\xff\x00",
}


def test_other_facts_need_another_version() -> None:
    digest = hashlib.sha256()
    for path, source in FILES.items():
        digest.update(msgspec.json.encode(read_facts(path, source)))
    assert (FACTS_VERSION, digest.hexdigest()) == DIGEST, (
        "read_facts gives other facts: increase FACTS_VERSION and update DIGEST"
    )


SHEETS = Path(__file__).parent / "programs"
Pair = tuple[str, str]
"""Node keys of caller and callee; a callee outside the project is `ext:…`."""


class Program(NamedTuple):
    """A small program with the edges that a linker should find, and those that are not counted."""

    name: str
    files: Mapping[str, str]
    expected: set[Pair]
    either: set[Pair]


def programs() -> Iterator[Program]:
    """Yield all programs, by feature and in the order of their sheet."""
    for sheet in sorted(SHEETS.glob("*.txt")):
        _, *parts = re.split(r"(?m)^## (\w+)\n", sheet.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            yield program(f"{sheet.stem}/{name}", text)


def program(name: str, text: str) -> Program:
    first, *parts = re.split(r"(?m)^### (\S+)\n", text)
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    edges: tuple[set[Pair], set[Pair]] = set(), set()
    for line in filter(None, files.pop("edges").split("\n")):
        caller, _, callees = line.partition(" -> ")
        for callee in callees.split(", "):
            edges[callee.startswith("?")].add((key(caller), key(callee.lstrip("~?"))))
    return Program(name, {"main.py": first, **files} if first.strip() else files, *edges)


def key(short: str) -> str:
    if short.startswith("ext:"):
        return short
    if short.endswith(".py"):
        return node_key(short, MODULE)
    path, _, qualname = short.rpartition(":")
    return node_key(path or "main.py", qualname)


def found(program: Program) -> set[Pair]:
    """Return the edges that the linker finds; external ones only if the program expects some."""
    facts = {path: read_facts(path, text.encode()) for path, text in program.files.items()}
    view = MemorySnapshot(facts)
    linker, keys = Linker(view), list(view.keys())
    edges = {(each, edge.key) for each in keys for edge in linker.callees(each)}
    externals = any(callee.startswith("ext:") for _, callee in program.expected)
    return {
        pair
        for pair in edges - program.either
        if not pair[1].startswith("ext:" if not externals else "ext:builtins.")
    }


def test_precision_and_recall() -> None:
    right, wrong, missed = 0, [], []
    for each in programs():
        edges = found(each)
        right += len(edges & each.expected)
        wrong += [f"{each.name}: wrong {pair}" for pair in edges - each.expected]
        missed += [f"{each.name}: missed {pair}" for pair in each.expected - edges]
    report = "\n".join((*wrong, *missed))
    assert right >= 800, report
    assert len(wrong) <= right / 50, report
    assert len(missed) <= right / 50, report
