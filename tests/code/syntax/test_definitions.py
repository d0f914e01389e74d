"""Whoever only outlines a file and whoever reads it whole find the same definitions and imports."""

from remora.code.ir.build.lowering import lower
from remora.code.syntax.definitions import Contents, contents
from tests.code.corpus import library, tree_of

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


def read(source: bytes) -> Contents:
    tree = tree_of(source)
    assert tree is not None
    lowering = lower("a/b.py", tree)
    return Contents(lowering.definitions, lowering.imports)


def spelled(found: Contents) -> list[object]:
    imports = [(each.lineno, each.col_offset) for each in found.imports]
    return [*((each.node.lineno, *each[1:]) for each in found.definitions), *imports]


def both(source: bytes) -> tuple[list[object], list[object]]:
    tree = tree_of(source)
    assert tree is not None
    return spelled(read(source)), spelled(contents(tree, "a/b.py"))


def test_the_arms_of_a_try_are_counted_as_they_stand_not_as_they_run() -> None:
    whole, alone = both(ARMS)
    assert whole == alone
    names = [each.qualname for each in read(ARMS).definitions]
    assert names[:2] == ["f", "f#2"]
    assert [name for name in names if name.startswith("f#4")] == ["f#4", "f#4.f", "f#4.f#2"]
    assert names[-1] == "__module__#2"


def test_real_files() -> None:
    for path in library(29):
        source = path.read_bytes()
        if tree_of(source) is not None:
            whole, alone = both(source)
            assert whole == alone, path
