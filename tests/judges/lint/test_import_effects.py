"""Imports that are needed for what they load: effects, submodules and tests of imports."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from remora.judges.lint.import_effects import ImportEffects
from remora.judges.lint.used_imports import bound_names
from remora.tools.file_tree import FileTree
from tests.counted_steps import steps_of
from tests.operations.lint.test_ruff_fixes import edited

DEFINES = {
    "constants, functions and classes": "NAMES = ('a',)\n\n\ndef f(a=1): pass\n\n\nclass A(dict): pass\n",
    "known decorators": """
        from dataclasses import dataclass, field
        from functools import lru_cache

        @dataclass
        class Cart:
            items: list = field(default_factory=list)

            @property
            def total(self): return print(self)

            @total.setter
            def total(self, value): self.items = [value]

        @lru_cache(maxsize=1)
        def start(): register(start)
        """,
    "known calls": """
        import logging, os, re
        from typing import NamedTuple, TypeVar

        LOG = logging.getLogger(__name__)
        HOME = os.path.join(os.path.dirname(__file__), "home")
        WORD, WORDS = re.compile("a"), "a b".split()
        T = TypeVar("T")

        class Point(NamedTuple): x: int
        """,
    "own bases": "class Base(Exception): pass\n\n\nclass Own(Base): pass\n",
    "what runs only in a script": "if __name__ == '__main__':\n    print(1)\n",
    "what only type checkers see": """
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            import torch
        """,
    "a choice of versions": """
        try:
            import json
        except ImportError:
            json = None
        __all__ = ["json"]
        __all__ += ["other"]
        """,
}
ACTS = {
    "a decorator": "from reg import register\n\n@register\ndef send(): pass\n",
    "a decorator with arguments": "from reg import on\n\n@on('start')\ndef send(): pass\n",
    "an own decorator": "def on(f): return ALL.append(f)\n\n@on\ndef send(): pass\n",
    "a method of a generic function": "from reg import show\n\n@show.register\ndef _(a: int): pass\n",
    "a method with a decorator": "from reg import on\n\nclass A:\n    @on\n    def send(self): pass\n",
    "a subclass": "from reg import Base\n\nclass User(Base): pass\n",
    "a subclass in a module": "import reg\n\nclass User(reg.Base): pass\n",
    "a subclass of an own class": """
        from reg import KINDS

        class Base:
            def __init_subclass__(cls): KINDS.append(cls)

        class User(Base): pass
        """,
    "a metaclass": "from reg import Meta\n\nclass User(metaclass=Meta): pass\n",
    "a call": "import atexit\n\natexit.register(print)\n",
    "a call in an assignment": "import signal\n\nOLD = signal.signal(2, print)\n",
    "a call in a class": "from reg import field\n\nclass A:\n    name = field()\n",
    "a call in a default": "from reg import on\n\ndef f(a=on()): pass\n",
    "a call of an own function": "def build(): pass\n\n\nbuild()\n",
    "a call of a method of what is made": "import logging\n\nlogging.getLogger().addHandler(None)\n",
    "a loop": "from reg import KINDS\n\nfor name in 'ab':\n    KINDS[name] = 1\n",
    "a patch": "import json\n\njson.dumps = None\n",
    "an item": "import os\n\nos.environ['A'] = 'b'\n",
    "a longer list": "from reg import KINDS\n\nKINDS += [1]\n",
    "a back end": "import matplotlib\n\nmatplotlib.use('Agg')\n",
    "modules by name": "import importlib\n\nALL = [importlib.import_module(n) for n in ('a',)]\n",
    "a call behind a choice": "try:\n    import fast\nexcept ImportError:\n    print(1)\n",
    "code that does not parse": "print 1\n",
}


def acts(folder: Path, text: str) -> bool:
    (folder / "tasks.py").write_text(dedent(text))
    return ImportEffects(FileTree(folder)).may_act("tasks.py", trusts_others=True)


@pytest.mark.parametrize("text", DEFINES.values(), ids=DEFINES)
def test_a_module_only_defines(tmp_path: Path, text: str) -> None:
    assert not acts(tmp_path, text)


@pytest.mark.parametrize("text", ACTS.values(), ids=ACTS)
def test_a_module_does_more(tmp_path: Path, text: str) -> None:
    assert acts(tmp_path, text)


APP = {
    "app/__init__.py": "",
    "app/reg.py": "ALL = []\n\n\ndef on(f):\n    ALL.append(f)\n    return f\n",
    "app/tasks.py": "from app.reg import on\n\n\n@on\ndef send():\n    pass\n",
    "app/more.py": "from . import tasks\n\n__all__ = ['tasks']\n",
    "app/plain.py": "def unused():\n    pass\n",
    "app/sub/__init__.py": "",
    "app/sub/leaf.py": "X = 1\n",
    "main.py": "import app\n\nprint(app.sub.leaf.X)\n",
}
KEPT = {
    "several modules of a package": "import app.tasks\nimport app.plain\n- import csv\n",
    "a name": "from app.tasks import send\n- from app.plain import unused\n",
    "in a function": "def ready():\n    import app.tasks\n-     import csv\n    return 1\n",
    "what is loaded loads more": "from app import more\n- from app import plain\n",
    "one of two names": "import app.tasks as tasks\n- from app.tasks import send\n\nprint(tasks)\n",
    "a module that is not there": "import app.made\n- import csv\n",
    "a relative module that is not there": "from .made import x\n- import csv\n",
    "packages of others": "from mpl_toolkits.mplot3d import Axes3D\nimport hdf5plugin\n- import pytest\n",
    "modules for their effect": "import readline\nimport encodings.idna\n- import json\n",
    "a package of others that is used": "import torch\n- from torch import cuda\n\nprint(torch)\n",
    "a submodule that another file uses": "import app.sub.leaf\n- import csv\n",
    "a submodule behind an alias": (
        "import app as a\nfrom app import plain\n- from app.reg import on\n\nprint(a.plain)\n"
    ),
    "a submodule of the standard library": (
        "import concurrent.futures as cf\nimport concurrent.futures.thread\n- import xml.dom\n\n"
        "print(cf.thread)\n"
    ),
    "a probe": "try:\n    import pytest\nexcept ValueError:\n    pass\n- import csv\n",
    "a probe in a block": "with open('a'):\n    import pytest\n- import csv\n",
}


def both(diff: str) -> tuple[str, str]:
    """Return the text before and after a diff whose unchanged lines are not indented."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line.removeprefix("- ") for line in lines)
    return before, "".join(line for line in lines if not line.startswith("- "))


@pytest.mark.parametrize("diff", KEPT.values(), ids=KEPT)
def test_an_import_stays_for_what_it_loads(tmp_path: Path, diff: str) -> None:
    before, after = both(diff)
    assert edited(tmp_path, {"app/db.py": before, **APP}, "F") == after


def test_a_project_that_selects_the_rule_trusts_other_packages(tmp_path: Path) -> None:
    files = {"a.py": "import torch\n", "ruff.toml": "lint.select = ['F']\n"}
    assert edited(tmp_path, files) == ""
    assert edited(tmp_path, {"a.py": "import torch\n", "ruff.toml": ""}) == "import torch\n"


TESTS = {
    "in a function": "import csv\n\n\ndef test_a():\n    from shop import Cart\n    import shop\n",
    "in a method": "import csv\n\n\nclass TestA:\n    def test_a(self):\n        import shop\n",
    "only imports": "import csv\nimport shop\nfrom shop import Cart\n",
}


@pytest.mark.parametrize("text", TESTS.values(), ids=TESTS)
def test_an_import_that_is_the_test_stays(tmp_path: Path, text: str) -> None:
    files = {"tests/test_a.py": text, "shop.py": "class Cart: pass\n"}
    assert edited(tmp_path, files, "F401") == text.removeprefix("import csv\n").lstrip()
    other = {"tests/test_b.py": "import shop\n\n\ndef test_b():\n    assert 1\n", **files}
    assert "shop" not in edited(tmp_path, other, "F401")


COMMENTS = {
    "submodules": ("RUF100", "import api.checks  # noqa: F401\nimport api.signals  # noqa: F401\n"),
    "one for two imports": (
        "I",
        "import sys\nimport json, os  # pragma: no cover\n\nprint(os, sys)\n",
    ),
}


@pytest.mark.parametrize(("rule", "text"), COMMENTS.values(), ids=COMMENTS)
def test_the_comment_of_an_import_stays(tmp_path: Path, rule: str, text: str) -> None:
    assert edited(tmp_path, {"a.py": text}, "F", rule) == text.replace("json, ", "")


def test_other_comments_of_imports_go(tmp_path: Path) -> None:
    text = "import os  # noqa: F401\nimport os.path  # noqa: F401\n\nprint(os.path)\n"
    assert edited(tmp_path, {"a.py": text}, "RUF100") == text.replace("  # noqa: F401", "")


def test_typing_extensions_is_imported_only_if_the_project_requires_it(tmp_path: Path) -> None:
    source = (
        "from typing import TypeVar\n\nS = TypeVar('S')\n\n\n"
        "class A:\n    def f(self: S, x: S) -> S:\n        return self\n"
    )
    settings = (
        "[project]\nname = 'a'\nversion = '1'\nrequires-python = '>=3.8'\ndependencies = [{}]\n"
    )
    files = {"a.py": source, "pyproject.toml": settings.format("")}
    assert edited(tmp_path, files, "PYI019") == source
    files["pyproject.toml"] = settings.format("'typing-extensions'")
    assert "import Self" in edited(tmp_path, files, "PYI019")


def test_a_file_is_read_once_for_all_of_its_imports() -> None:
    """Otherwise ten times the imports, as of generated code, take a hundred times as long."""
    body = "import m\r\n" * 1_000
    finding: Any = {"message": "`m` imported but unused", "line": 1, "column": 8, "end_column": 9}
    assert bound_names(finding, body) == {"m"}
    assert steps_of(lambda: bound_names(finding, body)) < 100
