"""Small programs whose modules use each other, and edits of one line in one of them."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

PLACES = ("a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "pkg/d.py", "tests/test_e.py")
_DOTTED = ("a", "b", "pkg", "pkg.c", "pkg.d", "tests.test_e")
_SLOTS = (
    (  # how the module gives others' names
        "from {m} import *\n",
        "from {m} import make{o}, Kind{o}, use{o}\n",
        "import {m}\n",
        "from {m} import make{o} as make{n}\n",
        "from {m} import make{n}, Kind{n}\n",
        "",
    ),
    (
        "def make{n}(x=None):\n    return Kind{n}()\n",
        "def make{n}(x=None):\n    return Kind{o}()\n",
        "def make{n}(x=None):\n    return make{o}(x)\n",
        "def make{n}(x=None):\n    return {m}.make{o}()\n",
        "def make{n}(x=None):\n    return x\n",
        "def make{n}(x: Kind{o}):\n    return x.go()\n",
        "class make{n}:\n    def go(self):\n        return 1\n",
        "make{n} = make{o}\n",
        "",
    ),
    (
        "class Kind{n}:\n    def go(self):\n        return self\n",
        "class Kind{n}(Kind{o}):\n    def go(self):\n        return super().go()\n",
        "class Kind{n}({m}.Kind{o}):\n    part = make{o}\n",
        "class Kind{n}:\n    def __init__(self):\n        self.part = Kind{o}()\n",
        "class Kind{n}(Kind{o}):\n    def stop(self):\n        return self.go()\n",
        "class Kind{n}:\n    @property\n    def go(self):\n        return make{o}()\n",
        "Kind{n} = Kind{o}\n",
        "",
    ),
    (
        "def use{n}():\n    return make{n}().go()\n",
        "def use{n}():\n    return make{o}().go()\n",
        "def use{n}():\n    x = Kind{o}()\n    return x.part.go()\n",
        "def use{n}():\n    return make{o}(make{n}).stop()\n",
        "def use{n}(call=make{o}):\n    return call().go()\n",
        "def use{n}():\n    return {{'k': use{o}}}['k']()\n",
        "def use{n}():\n    return {m}.make{o}().go()\n",
        "@make{o}\ndef use{n}():\n    return alone{o}()\n",
        "use{n} = Kind{o}().go\n",
    ),
    (
        "def test_it(given{o}):\n    given{o}.go()\n",
        "import pytest\n\n@pytest.fixture\ndef given{n}():\n    return make{n}()\n",
        "def alone{n}():\n    return only()\n",
        "def only():\n    return 1\n",
        "__all__ = ['make{n}', 'use{n}']\n",
        "# nothing\n\n\n",
    ),
)
SLOTS = len(_SLOTS)

Program = dict[str, list[tuple[int, int]]]
Edit = tuple[str, int, tuple[int, int]]
"""Path, slot (SLOTS: the file comes or goes), which variant of it, and the module it speaks of."""

_choices = st.tuples(st.integers(0, 8), st.integers(0, len(PLACES) - 1))
_files = st.lists(_choices, min_size=SLOTS, max_size=SLOTS)
programs = st.fixed_dictionaries(dict.fromkeys(PLACES, _files))
edits = st.tuples(st.sampled_from(PLACES), st.integers(0, SLOTS), _choices)


def text_of(path: str, chosen: list[tuple[int, int]]) -> str:
    """A file."""
    number = PLACES.index(path)
    words: Mapping[str, Any] = {"n": number}
    return "".join(
        variants[variant % len(variants)].format(**words, o=other, m=_DOTTED[other])
        for variants, (variant, other) in zip(_SLOTS, chosen, strict=True)
    )


def edited(program: Program, there: set[str], edit: Edit) -> dict[str, str | None]:
    """Carry out an edit; the file as it is now, None: it is gone."""
    path, slot, choice = edit
    if slot == SLOTS:
        there ^= {path}
    else:
        there.add(path)
        program[path][slot] = choice
    return {path: text_of(path, program[path]) if path in there else None}
