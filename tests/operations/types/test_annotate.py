"""Types that a model writes, beside those of rules."""

import shutil
import venv
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.errors import HostError
from remora.operations.types.host_types import annotate, functions_to_annotate, write_annotations
from remora.operations.types.session import project_texts, session_for
from remora.operations.types.types_need import unannotated
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree

SHOP = """\
import decimal


class Item:
    def __init__(self, name: str, price: float) -> None:
        self.name = name
        self.price = price


def first(data):
    return data[0]


def total(items, *extra, discount=None):
    return sum(each.price for each in items) - (discount or 0)


def exact(amount):
    return amount.normalize()


def label(item: Item) -> str:
    return item.name
"""
SHOW = "\n\ndef show(item: Item):\n    return item.name\n"
USE = """\
from shop import Item, first

print(first([Item("tea", 2.5)]).price)
"""
SETTINGS = '[project]\nname = "shop"\nrequires-python = ">=3.11"\n[tool.ty]\n[tool.ruff.lint]\nselect = ["ANN", "TC", "UP"]\n'
FILES = {"shop.py": SHOP, "use.py": USE, "pyproject.toml": SETTINGS}


class Project:
    """A base, and a copy of it in which a job works on `shop.py`."""

    def __init__(self, folder: Path) -> None:
        self.base, self.copy = folder / "base", folder / "copy"
        self.base.mkdir()
        self.python: ProjectPython | None = None
        for name, text in FILES.items():
            (self.base / name).write_text(text)

    def start(self, shop: str = SHOP) -> ToolTree:
        (self.base / "shop.py").write_text(shop)
        shutil.copytree(self.base, self.copy)
        return ToolTree(self.copy, self.python, ruff=partial(Ruff, base=RuffBase(self.base)))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def text_of(place: ToolTree) -> str:
    return place.read("shop.py").decode()


def annotated(place: ToolTree, function: str, signature: str) -> dict[str, Any]:
    return annotate(place, "shop.py", [], function, signature)


def opened(place: ToolTree, *skipped: str) -> dict[str, dict[str, Any]]:
    found = functions_to_annotate(place, "shop.py", [], list(skipped))
    return {each["function"]: each for each in found["functions"]}


def test_functions_that_lack_annotations_are_described(project: Project) -> None:
    found = functions_to_annotate(project.start(), "shop.py", [], ["exact"])
    assert (found["count"], found["known"]) == (2, ["Item", "decimal"])
    _, total = found["functions"]
    assert total["names"] == ["items", "extra", "discount", "return"]
    assert found["shown"] == {
        "excerpt": {
            "ref": "code",
            "path": "shop.py",
            "lines": [10, 11],
            "text": "def first(data):\n    return data[0]",
        },
        "calls": ["use.py: first([Item('tea', 2.5)])"],
        "owner": [],
    }


def test_a_long_function_is_cut_in_the_middle_and_has_its_class(project: Project) -> None:
    lines = "".join(f"        self.rows[{n}] = row\n" for n in range(80))
    place = project.start(
        f"class Sheet(dict):\n    def __init__(self, rows: list[str]) -> None:\n        self.rows = rows\n\n    def fill(self, row):\n{lines}"
    )
    found = functions_to_annotate(place, "shop.py", [], [])["shown"]
    shown = found["excerpt"]["text"].split("\n")
    assert (len(shown), shown[0], shown[40]) == (60, "    def fill(self, row):", "... 22 lines ...")
    assert found["owner"] == ["class Sheet(dict):", "def __init__(self, rows: list[str]) -> None:"]


@pytest.mark.slow
def test_accepted_types_are_written_with_their_imports_beside_those_of_rules(
    project: Project,
) -> None:
    place = project.start(SHOP + SHOW)
    write_annotations(place, "shop.py", [])
    signatures = {
        "first": "(data: list[Item]) -> Item",
        "total": "(items: Iterable[Item], discount: float | None) -> float",
        "exact": "(amount: decimal.Decimal) -> decimal.Decimal",
    }
    for function, text in signatures.items():
        done = annotated(place, function, text)
        assert (done["written"], len(done["said"])) == (text, 1)
        assert done["said"][0].startswith("accepted by ty ")
    text = text_of(place)
    assert "def first(data: list[Item]) -> Item:" in text
    assert (
        "def total(items: Iterable[Item], *extra, discount: float | None = None) -> float:" in text
    )
    assert "def exact(amount: decimal.Decimal) -> decimal.Decimal:" in text
    assert "def show(item: Item) -> str:" in text
    assert "from collections.abc import Iterable" in text
    assert list(opened(place)) == ["total"], "*extra"


def test_a_later_call_revises_types_but_not_those_of_people(project: Project) -> None:
    place = project.start()
    annotated(place, "first", "(data: Sequence[Item]) -> Item")
    assert "import Sequence" in text_of(place)
    done = annotated(place, "first", "(data: list[Item])")
    assert done["header"] == "def first(data: list[Item]) -> Item:"
    assert "Sequence" not in text_of(place)
    refused = annotated(place, "label", "(item: str) -> str")
    assert refused["written"] == ""
    assert refused["said"] == ["item: Item was there before and stays"]


def test_type_that_a_caller_contradicts_is_refused_with_the_reason(project: Project) -> None:
    place = project.start()
    done = annotated(place, "first", "(data: list[int]) -> int")
    assert done["written"] == ""
    assert done["said"][0].endswith("use.py:3: Object of type `int` has no attribute `price`")
    assert text_of(place) == SHOP


@pytest.mark.slow
def test_type_that_the_code_contradicts_is_refused_and_others_are_kept(project: Project) -> None:
    place = project.start(f"import os\n{SHOP}")
    annotated(place, "first", "(data: Sequence[Item]) -> Item")
    done = annotated(place, "total", "(items: int, discount: int | None)")
    assert done["written"] == "(discount: int | None)"
    now = (
        text_of(place)
        .split("\n")
        .index("    return sum(each.price for each in items) - (discount or 0)")
    )
    assert f"line {now + 1}: Object of type `int` is not iterable" in done["said"][0]
    assert "def total(items, *extra, discount: int | None = None):" in text_of(place)


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("I would write a list here.", "not a signature"),
        ("(data: Any)", "data: Any fits every value and says nothing"),
        ("(data: object | None)", "data: object | None fits every value and says nothing"),
        ("(other: int)", "other is not a parameter that lacks a type"),
        ("(data: print(1))", "data: not a type"),
        ("(data)", "the signature has no type for what is missing"),
        ("(data: Basket)", "first(data: Basket): not known in the file"),
    ],
)
def test_answer_without_a_type_is_refused(project: Project, signature: str, reason: str) -> None:
    place = project.start()
    done = annotated(place, "first", signature)
    assert done["written"] == ""
    assert reason in done["said"][0]
    assert text_of(place) == SHOP


def test_function_whose_decorator_may_read_types_stays_as_it_is(project: Project) -> None:
    place = project.start(f"{SHOP}\n\n@app.command\ndef run(path):\n    return path\n")
    assert "run" not in opened(place, "first")
    assert "a decorator may read" in annotated(place, "run", "(path: str)")["said"][0]


def test_a_function_that_is_not_there_is_refused(project: Project) -> None:
    done = annotated(project.start(), "second", "(data: int)")
    assert (done["said"], done["header"]) == (["shop.py has no function second"], "")


def test_type_with_a_finding_of_ruff_is_refused_with_the_finding(project: Project) -> None:
    (project.base / "ruff.toml").write_text('[lint]\nselect = ["PYI041"]\n')
    place = project.start()
    done = annotated(place, "total", "(discount: int | float | None) -> float")
    assert "ruff refuses PYI041: " in done["said"][0]
    assert "def total(items, *extra, discount=None)" in text_of(place)


def test_function_that_is_defined_twice_gets_both_signatures(project: Project) -> None:
    twice = "if decimal.MAX_PREC > 1:\n    def cut(text): return text[0]\nelse:\n    def cut(text): return text\n"
    place = project.start(SHOP + twice)
    assert annotated(place, "cut", "(text: str) -> str")["written"] == "(text: str) -> str"
    assert text_of(place).count("def cut(text: str) -> str:") == 2


def test_one_of_several_functions_with_a_name_is_told_by_its_number(project: Project) -> None:
    nested = "    def cut(text): return text[0]\n    return cut\n"
    place = project.start(f"def one():\n{nested}" + f"def one():\n{nested}")
    annotated(place, "one#2.cut", "(text: str) -> str")
    assert text_of(place).count("def cut(text: str) -> str:") == 1


def test_all_missing_annotations_count_if_a_model_can_write(project: Project) -> None:
    place = project.start()
    module = parse_module("shop.py", SHOP.encode())
    assert isinstance(module, Module)
    (node,) = (each for each in module.nodes if each.qualname == "first")
    by_rules = unannotated(place, [module], {})
    with_model = unannotated(place, [module], {"open": True})
    assert isinstance(by_rules(module, node), str)
    assert with_model(module, node) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("ignored", "written"), [("E501", 1), ("ANN003", 0)])
def test_keyword_arguments_stay_untyped_where_ruff_ignores_it(
    project: Project, ignored: str, written: int
) -> None:
    settings = SETTINGS.replace('select = ["ANN", "TC", "UP"]', f'ignore = ["{ignored}"]')
    (project.base / "pyproject.toml").write_text(settings)
    typed = "".join(f"def f{n}(n: int) -> int:\n    return n\n\n\n" for n in range(4))
    place = project.start(f"{typed}def size(n: int, **more) -> int:\n    return n\n")
    assert write_annotations(place, "shop.py", [])["written"] == written
    assert ("**more: Any" in text_of(place)) == bool(written)


def start_with_pyright(project: Project, env: Path, fails: str) -> ToolTree:
    """Start with an environment whose pyright fails if a command of the shell succeeds."""
    (project.base / "pyproject.toml").write_text("[tool.pyright]\n")
    venv.create(env, symlinks=True)
    checker = env / "bin/pyright"
    checker.write_text(f"#!/bin/sh\n{fails} && exit 3\necho '{{\"generalDiagnostics\": []}}'\n")
    checker.chmod(0o755)
    project.python = ProjectPython(python=env / "bin/python", root=project.copy, trusted=True)
    return project.start(SHOP + SHOW)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "always"), [("show.*-> str", False), ("show", True)])
def test_nothing_is_written_if_the_checker_of_the_project_fails(
    project: Project, tmp_path: Path, code: str, always: bool
) -> None:
    place = start_with_pyright(project, tmp_path / "env", f"grep -q '{code}' shop.py")
    done = write_annotations(place, "shop.py", [])
    assert (done["written"], "fails on the project" in done["judges"]) == (0, always)


@pytest.mark.slow
def test_a_checker_that_had_no_time_is_asked_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = start_with_pyright(project, tmp_path / "env", "touch $MYPY_CACHE_DIR/ran")
    copy = session_for(place, place.once(project_texts)).checker.folder
    ran = copy.with_name(f"{copy.name}-cache") / "ran"

    def left() -> float:
        if ran.exists():
            raise HostError("no time is left")
        return 60.0

    monkeypatch.setattr(place, "left", left)
    for _ in range(2):
        assert annotated(place, "first", "(data: list[Item])")["said"] == ["no time is left"]
        ran.unlink()


@pytest.mark.slow
def test_checker_that_fails_with_the_types_of_a_model_refuses_them(
    project: Project, tmp_path: Path
) -> None:
    place = start_with_pyright(project, tmp_path / "env", "grep -q decimal.Decimal shop.py")
    write_annotations(place, "shop.py", [])
    done = annotated(place, "exact", "(amount: decimal.Decimal) -> decimal.Decimal")
    assert (done["written"], done["said"]) == ("", ["the project's pyright failed"])
    assert "def show(item: Item) -> str:" in text_of(place)


RULES_OF_A_CLASS = """\
from typing import Any


class Rule:
    def __lt__(self, other: Any) -> bool:
        return other is not None

    def __le__(self, other: Any) -> bool:
        return other is not None

    def __gt__(self, other) -> bool:
        return other is not None


class Keys(dict[str, int]):
    def __contains__(self, key) -> bool:
        return super().__contains__(key)
"""


@pytest.mark.parametrize(
    ("function", "signature"),
    [("Rule.__gt__", "(other: Any)"), ("Keys.__contains__", "(key: object)")],
)
def test_type_that_says_nothing_is_kept_where_related_methods_have_it(
    project: Project, function: str, signature: str
) -> None:
    (project.base / "pyproject.toml").write_text("[tool.ty]\n")
    place = project.start(RULES_OF_A_CLASS)
    assert annotated(place, function, signature)["written"] == signature


STORES = """\
class Store:
    def put(self, row):
        raise NotImplementedError


class Shelf(Store):
    def put(self, row):
        return [row]


class Count(Store):
    def put(self, row):
        return row + 1


print(Shelf().put("tea"), Count().put(2.5))
"""


def test_methods_that_override_another_get_the_types_of_its_parameters(project: Project) -> None:
    place = project.start(STORES)
    done = annotated(place, "Store.put", "(row: str) -> None")
    assert done["written"] == "(row: str) -> None"
    assert "refuses Count.put(row: str): " in done["said"][0]
    assert text_of(place).count("(self, row: str)") == 2
    assert "(self, row)" in text_of(place)
