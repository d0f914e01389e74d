"""Annotations of a small project, from planning to the files of the user."""

import shutil
import subprocess
import venv
from pathlib import Path

import pytest

import remora
from remora.errors import OutsideError
from remora.judges.types import type_checker
from remora.judges.types.slots import SourceText
from remora.operations.types import pyrefly
from remora.operations.types.session import Session, project_texts
from remora.runs.records.results import run_document
from remora.tools.tree import ToolTree

SHOP = """\
class Item:
    def __init__(self, name, price=0.0):
        self.name = name
        self.price = price

    def __eq__(self, other):
        return isinstance(other, Item) and self.name == other.name

    def label(self):
        return f"{self.name}: {self.price:.2f}"


def is_cheap(item, limit=10.0):
    return item.price < limit


def clear(items):
    items.clear()


def first(data):
    return data[0]
"""
USE = """\
from shop import Item, clear, is_cheap

items = [Item("tea", 2.5), Item("jam", 1.5)]
print(is_cheap(items[0], 3.5), is_cheap(Item("rice", 2.0), 4.5), items[0].label())
clear(items)
"""
SEEN = """\
from shop import note


def test_note():
    assert [shown(each) for each in ("tea", "jam")] == ["TEA", "JAM"]


def shown(text):
    return text.upper()


shown("tea"), shown("jam")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    (root / "shop.py").write_text(SHOP)
    (root / "use.py").write_text(USE)
    settings = '[project]\nname = "shop"\nrequires-python = ">=3.10"\n'
    (root / "pyproject.toml").write_text(f"{settings}[tool.ty]\n")  # else mypy judges, too
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def test_annotations_are_planned_written_verified_and_counted(project: Path) -> None:
    planned = remora.plan(root=project, operations=["types"])
    assert [job.path for job in planned.jobs] == ["shop.py"], "nothing is missing in use.py"
    done = remora.analyze(root=project, operations=["types"])
    assert [job.status for job in done.view.jobs] == ["verified"]
    (total,) = run_document(done.project, done.view)["totals"]["operations"]
    written = total["annotations"]["written"]
    assert total["annotations"]["of"] == 9, "without `clear` and `first`"
    remora.accept(done.run_id, every=True, root=project)
    text = (project / "shop.py").read_text()
    assert written == 13 - len(SourceText(text).slots)
    assert "def __init__(self, name: str, price: float = 0.0) -> None:" in text
    assert "def label(self) -> str:" in text
    assert "def is_cheap(item: Item, limit" in text
    assert "def first(data):" in text, "nothing says what it is"


@pytest.mark.slow
def test_tests_are_left_out_unless_they_are_named(project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_shop.py").write_text(SEEN)
    (project / "shop.py").write_text("")
    planned = remora.plan(root=project, operations=["types"])
    assert planned.left == {"types": {"in test code": 2}}
    named = remora.plan(project / "tests", root=project, operations=["types"])
    assert [job.path for job in named.jobs] == ["tests/test_shop.py"]
    (project / "tests" / "test_shop.py").rename(project / "test.py")
    (project / "test.py").write_text(f"import unittest\n{SEEN}")
    assert remora.plan(root=project, operations=["types"]).left == planned.left


@pytest.mark.slow
def test_build_scripts_are_left_out_unless_they_are_named(project: Path) -> None:
    (project / "tasks.py").write_text(_many(3, "task"))
    planned = remora.plan(root=project, operations=["types"])
    assert {job.path for job in planned.jobs} == {"shop.py"}
    assert planned.left["types"]["in build scripts"] == 3
    named = remora.plan(project / "tasks.py", root=project, operations=["types"])
    assert [job.path for job in named.jobs] == ["tasks.py"]


@pytest.mark.slow
def test_a_project_without_annotations_is_left_alone_unless_files_are_named(project: Path) -> None:
    (project / "more.py").write_text(_many(20, "show"))
    (project / "pyproject.toml").write_text("")
    planned = remora.plan(root=project, operations=["types"])
    assert not planned.jobs
    assert [*planned.left["types"]] == [
        "in a project with annotations in fewer than one function in 20;"
        " name files to have types there"
    ]
    named = remora.plan(project / "shop.py", root=project, operations=["types"])
    assert [job.path for job in named.jobs] == ["shop.py"]
    (project / "vendor").mkdir()
    (project / "vendor" / "py.typed").write_text("")
    (project / "vendor" / "typed.py").write_text("def typed() -> None: ...\n" * 10)
    assert not remora.plan(root=project, operations=["types"]).jobs, "it only has a typed copy"
    (project / "typed.py").write_text("def typed() -> None: ...\n" * 2)
    (project / "test_more.py").write_text(_many(20, "test"))
    wanted = remora.plan(root=project, operations=["types"])
    assert "shop.py" in {job.path for job in wanted.jobs}


def test_files_with_a_stub_file_are_left_out(project: Path) -> None:
    (project / "shop.pyi").write_text("")
    planned = remora.plan(project / "shop.py", root=project, operations=["types"])
    assert not planned.jobs
    assert [*planned.left["types"]] == ["whose types are in a stub file"]
    (project / "tests").mkdir()
    (project / "tests" / "test_shop.py").write_text(SEEN)
    assert not remora.plan(root=project, operations=["types"]).jobs


def test_modules_with_a_stub_package_are_left_out(project: Path) -> None:
    """Their types are published, so others beside them would only contradict them one day."""
    (project / "shop-stubs").mkdir()
    (project / "shop-stubs" / "__init__.pyi").write_text("")
    planned = remora.plan(project / "shop.py", root=project, operations=["types"])
    assert not planned.jobs
    assert [*planned.left["types"]] == ["whose types are in a stub file"]


@pytest.mark.slow
def test_a_resumed_run_writes_the_same_and_repeats_no_check(project: Path, tmp_path: Path) -> None:
    """The files that are done make no difference, and the answers of ty were kept."""
    (project / "till.py").write_text(
        "from shop import Item\n\n\ndef sell(name, price):\n    return Item(name, price)"
        "\n\n\nsell('tea', 2.5)\nsell('jam', 1.5)\n"
    )
    place = ToolTree(project, answers=tmp_path / "answers")
    planned = ["shop.py", "till.py"]
    whole = Session(project_texts(place), place)
    whole.use(place)
    first = whole.annotations("shop.py", place, planned)
    second = whole.annotations("till.py", place, planned)
    resumed = Session(project_texts(place), place)
    resumed.use(place)
    assert resumed.annotations("till.py", place, planned) == second != {}
    assert resumed.annotations("shop.py", place, planned) == first != {}
    assert (whole.checker.runs > 0, resumed.checker.runs) == (True, 0)


@pytest.mark.slow
def test_a_file_alone_is_planned_and_written_as_with_the_whole_project(project: Path) -> None:
    """Each file has too few annotations for a project of this size, and both have enough."""
    (project / "shop.py").write_text(_many(3, "shop"))
    (project / "till.py").write_text(_many(3, "till"))
    (project / "use.py").write_text(_unknown(40))
    (project / "pyproject.toml").write_text("")
    (project / "py.typed").write_text("")
    whole = remora.plan(root=project, operations=["types"])
    alone = remora.plan(project / "till.py", root=project, operations=["types"])
    (of_whole,) = (job for job in whole.jobs if job.path == "till.py")
    assert [job.path for job in alone.jobs] == ["till.py"]
    assert alone.amounts[alone.jobs[0].agent_id] == whole.amounts[of_whole.agent_id]
    done = remora.analyze(project / "till.py", root=project, operations=["types"])
    (total,) = run_document(done.project, done.view)["totals"]["operations"]
    assert total["annotations"]["written"] == 9


def _many(number: int, name: str) -> str:
    text = "def {0}_{1}(text, times):\n    return text.upper() * times\n{0}_{1}('a', 3), {0}_{1}('b', 1)\n"
    return "\n\n".join(text.format(name, n) for n in range(number))


def _unknown(number: int) -> str:
    return "\n\n".join(f"def use_{n}(a, b):\n    return a[b](n)\n" for n in range(number))


class TestMergeWithAnEdit:
    """The file was edited after `analyze`, so `accept` checks the merged file again."""

    @pytest.mark.slow
    def test_without_an_environment_then_and_now(self, project: Path) -> None:
        done = remora.analyze(root=project, operations=["types"])
        (project / "shop.py").write_text(f"{SHOP}\n\nLIMIT = 3\n")
        remora.accept(done.run_id, every=True, root=project)
        assert "def label(self) -> str:" in (project / "shop.py").read_text()

    @pytest.mark.slow
    def test_a_missing_environment_is_not_a_conflict(self, project: Path) -> None:
        venv.create(project / ".venv")
        done = remora.analyze(root=project, operations=["types"])
        shutil.rmtree(project / ".venv")
        (project / "shop.py").write_text(f"{SHOP}\n\nLIMIT: str = 3\n")
        with pytest.raises(OutsideError, match="but `analyze` used an environment"):
            remora.accept(done.run_id, every=True, root=project)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.py", 'setup(python_requires=">=2.7, !=3.0.*")\n'),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "~2.7 || ^3.4"\n'),
        (".travis.yml", "python:\n  - 2.7\n  - 3.6\n"),
        ("tox.ini", "[tox]\nenvlist = py27, pypy\n"),
        ("shop.py", f"{SHOP}\n\nfor _ in xrange(3):\n    pass\n"),
    ],
)
def test_nothing_is_planned_for_a_project_that_supports_python_2(
    project: Path, name: str, text: str
) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    (project / name).write_text(text)
    planned = remora.plan(root=project, operations=["types"])
    assert planned.jobs == ()
    assert planned.left == {"types": {"in a project that supports Python 2": 6}}


RECURSIVE = """from typing import List, Tuple, Union
Markup = Union['Text', 'Group', 'Pair']
Group = List['Markup']
Pair = Union['Plain', 'Widget']
Plain = Tuple['Attribute', Union['Text', 'Group']]
Widget = Tuple[int, Union['urwid.Widget', 'Widgets']]
Widgets = List[Union['urwid.Widget', 'Markup', 'Widgets']]


def note(text="a"):
    return 1
"""
"""ty 0.0.105 does not finish if a file imports one of these names and is checked first."""


@pytest.mark.slow
def test_a_file_on_which_ty_does_not_finish_is_left_out_with_the_reason(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type_checker, "SECONDS", 10.0)
    monkeypatch.setattr(type_checker, "LOOKING_SECONDS", 5.0)
    (project / "aliases.py").write_text(RECURSIVE)
    for name in ("a.py", "b.py"):
        (project / name).write_text("from aliases import Group\n")
    planned = remora.plan(root=project, operations=["types"])
    assert [job.path for job in planned.jobs] == ["shop.py"]
    assert planned.left["types"]["in files on which ty fails"] == 1
    done = remora.analyze(root=project, operations=["types"])
    assert [job.status for job in done.view.jobs] == ["verified"]


def test_without_pyrefly_the_reason_is_said_and_the_run_goes_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyrefly, "SECONDS", 0.001)
    (project / "unseen.py").write_text("def unseen():\n    return 1\n")  # no earlier answer fits
    planned = remora.plan(root=project, operations=["types"])
    assert planned.jobs == ()
    (why,) = planned.left["types"]
    assert why.startswith("without candidates, because pyrefly did not finish within")
