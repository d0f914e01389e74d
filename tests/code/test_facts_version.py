"""FACTS_VERSION changes whenever the same bytes give other facts."""

import hashlib

import msgspec

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FACTS_VERSION

DIGEST = (2, "15153eb6b26da056478486deaeac9f7c60ec05cd7f164460992e6efa94efe0de")
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
