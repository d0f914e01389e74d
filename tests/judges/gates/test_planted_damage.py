"""Damage of ten kinds that no agent sees is taken out by name, and the rest of the run stays."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

import remora
from remora.bootstrap.open_project import invocation_for, open_project
from remora.bootstrap.operations import BUILT_IN
from remora.errors import NotFound
from remora.operations.base import FIX_TAKEN_OUT, NO_FIX
from remora.runs.records.results import read_run
from remora.runs.report.job_findings import lint_left
from remora.runs.report.job_texts import done_summary
from tests.cli.conftest import write
from tests.judges.gates.conftest import Judge, Plants
from tests.web.recorded import client_of

SETTINGS = "[tool.pytest.ini_options]\n"
OTHER = "def half(n):\n    return n / 2\n\n\n# end\n"
"""A module with which nothing goes wrong."""
HARMLESS = ("return n / 2", "return n * 0.5")
KINDS: dict[str, tuple[Mapping[str, str], Plants, str]] = {
    "discovery": (
        {
            "cases.py": "import unittest\n\n\nclass CartCase(unittest.TestCase):\n"
            "    def test_empty(self):\n        self.assertFalse([])\n",
            "test_all.py": "from cases import CartCase\n\n\ndef test_one():\n    assert True\n",
        },
        {"test_all.py": [("from cases import CartCase\n", "")]},
        "pytest (test_all.py, line 1): test_all.py::CartCase::test_empty is no longer collected",
    ),
    "reflection by name": (
        {
            "handlers.py": "def handle_add(n):\n    return n + 1\n",
            "test_handlers.py": "import handlers\n\n\ndef test_kinds():\n    kind = 'add'\n"
            "    assert getattr(handlers, f'handle_{kind}')(1) == 2\n",
        },
        {"handlers.py": [("handle_add", "_handle_add")]},
        "pytest (handle_add, _handle_add, line 1): test_handlers.py::test_kinds fails",
    ),
    "string annotations": (
        {
            "shelf.py": "from pathlib import Path\n\n\nclass Shelf:\n    pass\n\n\n"
            "Shelf.__annotations__ = {'place': 'Path'}\n",
            "test_shelf.py": "import typing\n\nimport shelf\n\n\ndef test_hints():\n"
            "    assert typing.get_type_hints(shelf.Shelf)\n",
        },
        {"shelf.py": [("from pathlib import Path\n", "")]},
        "pytest (shelf.py, line 1): test_shelf.py::test_hints fails",
    ),
    "order of imports": (
        {
            "state.py": "names = []\n",
            "first.py": "import state\nstate.names.append('first')\n",
            "last.py": "import state\nassert state.names\n",
            "main.py": "import first\nimport last\n",
            "test_main.py": "def test_main():\n    import main\n    assert main\n",
        },
        {
            "main.py": [
                ("import first\nimport last\n", "import last as last\nimport first as first\n")
            ]
        },
        "imports (main.py, line 1): main.py can no longer be imported",
    ),
    "monkeypatching": (
        {
            "cart.py": "import os\n\n\ndef total(prices):\n    return sum(prices)\n",
            "test_cart.py": "import cart\n\n\ndef test_total(monkeypatch):\n"
            "    monkeypatch.setattr('cart.os.sep', '/')\n    assert cart.total([1]) == 1\n",
        },
        {"cart.py": [("import os\n", "")]},
        "pytest (cart.py, line 1): test_cart.py::test_total fails",
    ),
    "pickled paths": (
        {
            "shop.py": "class Cart:\n    pass\n",
            "cart.pickle": "cshop\nCart\n.",
            "test_shop.py": "import pickle\nfrom pathlib import Path\n\n\ndef test_old_carts():\n"
            "    assert pickle.loads(Path('cart.pickle').read_bytes()).__name__ == 'Cart'\n",
        },
        {"shop.py": [("class Cart", "class Basket")]},
        "pytest (Cart, Basket, line 1): test_shop.py::test_old_carts fails",
    ),
    "doctest": (
        {
            "pyproject.toml": f'{SETTINGS}addopts = "--doctest-modules"\n',
            "price.py": "def price():\n    '''\n    >>> price()\n    '1 EUR'\n    '''\n"
            "    return '1 EUR'\n",
        },
        {"price.py": [("return '1 EUR'", "return '1 €'")]},
        "pytest (price, line 6): price.py::price.price fails",
    ),
    "plug-in entry point": (
        {
            "plugin.py": "def start():\n    return 'started'\n",
            "plugin-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: plugin\nVersion: 1\n",
            "plugin-1.dist-info/entry_points.txt": "[shop]\nstart = plugin:start\n",
            "test_plugin.py": "from importlib.metadata import entry_points\n\n\n"
            "def test_start():\n    (point,) = entry_points(group='shop')\n"
            "    assert point.load()() == 'started'\n",
        },
        {"plugin.py": [("def start", "def begin")]},
        "pytest (start, begin, line 1): test_plugin.py::test_start fails",
    ),
    "snapshot test": (
        {
            "report.py": "def report():\n    return 'Total: 3'\n",
            "report.txt": "Total: 3",
            "test_report.py": "from pathlib import Path\n\nimport report\n\n\ndef test_report():\n"
            "    assert report.report() == Path('report.txt').read_text()\n",
        },
        {"report.py": [("'Total: 3'", "'total: 3'")]},
        "pytest (report, line 2): test_report.py::test_report fails",
    ),
    "type stub": (
        {
            "pyproject.toml": f"{SETTINGS}\n[tool.mypy]\nstrict = true\n",
            "size.py": "def size(text):\n    return len(text)\n",
            "size.pyi": "def size(text: str) -> int: ...\n",
            "use.py": "from size import size\n\nn: int = size('text')\n",
            "test_size.py": "import size\n\n\ndef test_size() -> None:\n"
            "    assert size.size('a') == 1\n",
        },
        {"use.py": [("size('text')", "size(b'text')")]},
        'mypy (use.py, line 3): use.py: arg-type Argument 1 to "size" has incompatible type '
        '"bytes"; expected "str"',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_taken_out_by_name(kind: str, active: Path, judge: Judge) -> None:
    files, plants, reason = KINDS[kind]
    settings = {"pyproject.toml": SETTINGS, "other.py": OTHER}
    judged = judge({**settings, **files}, {**plants, "other.py": [HARMLESS]})
    assert judged.reasons[0].startswith(f"taken out by {reason}")
    assert judged.gates.proof == "tested"
    assert judged.accepted() == {"other.py": OTHER.replace(*HARMLESS)}


@pytest.mark.slow
def test_the_rest_of_a_change_set_stays(active: Path, judge: Judge) -> None:
    """Each place of a change set is judged."""
    lines = [f"def f{number}():\n    return {number}\n\n\n" for number in range(12)]
    tests = "import many\n\n\ndef test_seven():\n    assert many.f7() == 7\n"
    plants = [(f"    return {number}\n", f"    return {number} + 0.5\n") for number in range(12)]
    files = {"pyproject.toml": SETTINGS, "many.py": "".join(lines), "test_many.py": tests}
    judged = judge(files, {"many.py": plants})
    (job,) = judged.view.jobs
    assert job.review.left == (*range(1, 8), *range(9, 13))
    (reason,) = judged.reasons
    taken_out = "taken out by pytest (f7, line 30): test_many.py::test_seven fails: assert 7.5 == 7"
    assert reason == f"{taken_out}; + where 7.5 = <function f7>(); + where <function f7> = many.f7"
    with pytest.raises(NotFound, match="no verdict to undo"):
        remora.undo(judged.view.run_id, root=judged.root)
    (text,) = judged.accepted().values()
    assert text.count(" + 0.5") == 11
    assert "    return 7\n" in text


@pytest.mark.slow
def test_what_is_taken_out_does_not_count_as_fixed(active: Path) -> None:
    source = "def f():\n    import os\n    return 1\n\n\ndef g():\n    import sys\n    return 2\n"
    tests = (
        "import inspect\n\nimport a\n\n\ndef test_g():\n"
        "    assert 'sys' in inspect.getsource(a.g)\n"
    )
    write(active, {"a.py": source, "test_a.py": tests})
    (job,) = remora.analyze(root=active, operations=["lint"]).view.jobs
    (reason,) = job.proposal.reasons
    assert reason.startswith("taken out by pytest (F401, line 7): test_a.py::test_g fails: Assert")
    assert (job.findings.before, job.findings.after) == ({"F401": 2}, {"F401": 1})


@pytest.mark.slow
def test_what_is_left_is_told_apart_by_reason(active: Path) -> None:
    """Files with a job count what it left, and others what the plan left."""
    needs = "    assert '{}' in inspect.getsource({})\n"
    files = {
        "a.py": "def f():\n    import os\n    return 1\n\n\ndef g():\n    import sys\n",
        "b.py": "def f():\n    import os\n    return l\n\n\nl = 1\n",
        "c.py": "l = 1\n",
        "test_a.py": "import inspect\n\nimport a\n\n\ndef test_a():\n" + needs.format("sys", "a"),
        "test_b.py": "import inspect\n\nimport b\n\n\ndef test_b():\n" + needs.format("os", "b"),
        "pyproject.toml": "[tool.ruff]\nlint.select = ['F401', 'E741']\n",
    }
    write(active, files)
    view = remora.analyze(root=active, operations=["lint"]).view
    assert [job.review.state for job in view.jobs] == ["pending", "taken_out"]
    done = [done_summary(job, left=False) for job in view.jobs]
    assert done == ["fixes F401 · pending: hunk 1", "would fix F401"]
    home = active.parent / "home"
    run = client_of(active, home).get(f"/runs/{view.run_id}").text
    assert '<span class="state taken_out">taken out</span>' in run
    page = client_of(active, home).get(f"/agents/{view.jobs[1].agent_id}").text
    assert '<li class="bad">pytest: took changes out' in page
    assert "taken out by pytest (F401, line 2): test_b.py::test_b fails" in page
    left = Counter[str]()
    for reason, number, _ in lint_left(view):
        left[reason] += number
    assert left == {FIX_TAKEN_OUT: 2, NO_FIX: 2}
    short = read_run(open_project(invocation_for(active, {}, BUILT_IN)), view.run_id, details=False)
    assert sorted((reason, number) for reason, number, _ in lint_left(short)) == [
        (FIX_TAKEN_OUT, 1), (FIX_TAKEN_OUT, 1), (NO_FIX, 1), (NO_FIX, 1)
    ]  # fmt: skip
