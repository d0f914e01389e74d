"""Annotations in source text: where they go, and what they import."""

from textwrap import dedent

import pytest

from remora.judges.types.project_index import ProjectIndex
from remora.judges.types.type_checker import line_map
from remora.operations.types.annotated_project import annotated_file
from remora.operations.types.writing.annotation_names import FileNames, ProjectNames
from remora.operations.types.writing.clean_file import wrap_signatures

MODELS = "class Order:\n    pass\n"


def written(text: str, terms: dict[str, str], minor: int = 12) -> str:
    """Write types, by the name of their parameter or `return`, into a module of a package."""
    index = ProjectIndex({"shop/cart.py": dedent(text), "shop/models.py": MODELS})
    file = index.files["shop/cart.py"]
    chosen = {slot: terms[slot.name] for slot in file.source.slots if slot.name in terms}
    return annotated_file(file, FileNames(file, ProjectNames(index, minor)), chosen).text


@pytest.mark.parametrize(
    ("before", "terms", "after"),
    [
        ("def f(a, b=1): ...", {"a": "str", "b": "int"}, "def f(a: str, b: int = 1): ..."),
        (
            "def f(é='é', *, b): ...",
            {"é": "str", "b": "int"},
            "def f(é: str = 'é', *, b: int): ...",
        ),
        ("def f(*a, **k): ...", {"a": "int", "k": "str"}, "def f(*a: int, **k: str): ..."),
        ("async def f(): ...", {"return": "None"}, "async def f() -> None: ..."),
        (
            "def f(\n    a,  # the first\n    b=(1, 2),\n): ...",
            {"b": "tuple[int, int]", "return": "None"},
            "def f(\n    a,  # the first\n    b: tuple[int, int] = (1, 2),\n) -> None: ...",
        ),
        ("def f(a = 1): ...", {"a": "int | None"}, "def f(a: int | None = 1): ..."),
    ],
)
def test_annotation_is_the_only_change(before: str, terms: dict[str, str], after: str) -> None:
    assert written(before, terms) == after


@pytest.mark.parametrize(
    ("before", "term", "minor", "after"),
    [
        # the oldest Python decides, and the file's own habit
        (
            "from typing import Any\ndef f(a): ...\n",
            "list[int] | None",
            8,
            "from typing import Any, List, Optional\ndef f(a: Optional[List[int]]): ...\n",
        ),
        (
            "from __future__ import annotations\ndef f(a): ...\n",
            "list[int] | None",
            8,
            "from __future__ import annotations\ndef f(a: list[int] | None): ...\n",
        ),
        (
            "from typing import List\ndef g(b: List[int]): ...\ndef f(a): ...\n",
            "dict[str, list[int]]",
            12,
            "from typing import Dict, List\ndef g(b: List[int]): ...\n"
            "def f(a: Dict[str, List[int]]): ...\n",
        ),
        # names of an imported module are used through it
        (
            "import datetime\ndef f(a): ...\n",
            "date",
            12,
            "import datetime\ndef f(a: datetime.date): ...\n",
        ),
        # a standard import joins its group
        (
            "import os\n\nimport click\n\ndef f(a): ...\n",
            "Iterator[str]",
            12,
            "import os\nfrom collections.abc import Iterator\n\nimport click\n\ndef f(a: Iterator[str]): ...\n",
        ),
        # a class of the project is imported for type checkers only, and quoted
        (
            "import os\n\ndef f(a): ...\n",
            "Order",
            12,
            "import os\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
            '    from shop.models import Order\n\ndef f(a: "Order"): ...\n',
        ),
        (
            "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
            "if TYPE_CHECKING:\n    from .other import Other\n\ndef f(a): ...\n",
            "Order",
            12,
            "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
            "if TYPE_CHECKING:\n    from .other import Other\n    from .models import Order\n\n"
            "def f(a: Order): ...\n",
        ),
        # or beside other names that the file imports from its module
        (
            "from shop.models import Cart\n\ndef f(a): ...\n",
            "Order",
            12,
            "from shop.models import Cart, Order\n\ndef f(a: Order): ...\n",
        ),
        # or named in its module, if the file imports that
        (
            "from . import models as m\n\ndef f(a): ...\n",
            "Order",
            14,
            "from . import models as m\n\ndef f(a: m.Order): ...\n",
        ),
        (
            "from shop import models\n\ndef f(a): ...\n",
            "list[Order]",
            12,
            'from shop import models\n\ndef f(a: "list[models.Order]"): ...\n',
        ),
        # a class that is defined later is quoted
        ("def f(a): ...\nclass B: ...\n", "B", 12, 'def f(a: "B"): ...\nclass B: ...\n'),
    ],
)
def test_names_are_written_as_the_file_can_use_them(
    before: str, term: str, minor: int, after: str
) -> None:
    assert written(before, {"a": term}, minor) == after


def test_a_name_that_the_oldest_python_does_not_have_is_not_imported() -> None:
    assert "SupportsIndex" in written("def f(a): ...", {"a": "SupportsIndex"}, 8)
    assert written("def f(a): ...", {"a": "SupportsIndex"}, 7) == "def f(a): ..."


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("class C:\n    def list(self): ...\n    def f(self, a): ...\n", "list[int]"),
        ("def f(a): ...\n", "Event"),  # of asyncio or threading?
        ("def f(a): ...\n", "NoSuchName"),
        ("Path = str\ndef f(a): ...\n", "Path"),
    ],
)
def test_ambiguous_and_unknown_names_are_left(text: str, term: str) -> None:
    if term == "Path":
        assert "a: Path" in written(text, {"a": term})  # the file's own alias
    else:
        assert written(text, {"a": term}) == text


@pytest.mark.parametrize("module", [".models", "shop.models"])
def test_first_import_from_the_package_looks_like_those_of_other_files(module: str) -> None:
    lazy = "from __future__ import annotations\n"
    others = {"shop/models.py": MODELS, "shop/till.py": f"from {module} import Order\n"}
    index = ProjectIndex({"shop/cart.py": f"{lazy}def f(a): ...\n", **others})
    file = index.files["shop/cart.py"]
    (slot, _) = file.source.slots
    text = annotated_file(file, FileNames(file, ProjectNames(index, 12)), {slot: "Order"}).text
    assert f"    from {module} import Order\n" in text


def test_original_lines_are_known() -> None:
    text = "import os\n\nfrom shop import (\n    a,\n)\n\ndef f(a): ...\nx = 1\n"
    index = ProjectIndex({"shop/cart.py": text, "shop/models.py": MODELS})
    file = index.files["shop/cart.py"]
    names = FileNames(file, ProjectNames(index, 12))
    changed = annotated_file(file, names, {file.source.slots[0]: "Order | Iterator[int]"})
    after = changed.text.splitlines()
    lines = line_map(text, changed.text)
    before = text.splitlines()
    for number, line in enumerate(after, 1):
        if line in before and line:
            assert before[lines[number] - 1] == line


def test_signature_that_has_become_too_long_is_wrapped() -> None:
    before = dedent("""\
        class Cart:
            def add(self, name, *, prices={1: (2, 3)}):
                return name

            def remove(self, name, count=1):
                return name
    """)
    after = before.replace("self, name, *, prices=", "self, name: str, *, prices: Prices = ")
    after = after.replace("count=1):", "count: int = 1) -> str:")
    assert wrap_signatures(before, after, 60) == dedent("""\
        class Cart:
            def add(
                self,
                name: str,
                *,
                prices: Prices = {1: (2, 3)},
            ):
                return name

            def remove(self, name, count: int = 1) -> str:
                return name
    """)
    assert wrap_signatures(before, after, 40) != after
    assert wrap_signatures(after, after, 40) == after, "it was too long before"
