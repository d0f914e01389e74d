"""The Hub's questions on the command line, without a daemon: each looks at the files itself."""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from coverage import CoverageData

from remora.hub.members.members import Members
from remora.hub.store.owner_lock import OwnerLock
from remora.hub.store.reader import open_snapshot
from tests.cli.conftest import Done, Remora, git, on_terminal, user_without_weights, write
from tests.hub.index_check import verify

CART = '''"""What will be bought."""
from shop.price import rounded


class Cart:
    """A cart."""

    def total(self, items: list[int], *, currency: str = "EUR") -> int:
        """Sum of the prices of what is in the cart."""
        if not items:
            return 0
        return rounded(sum(items))


def total(cart):
    return cart.total([])
'''
PRICE = """import math


def rounded(value: float) -> int:
    return math.floor(value)
"""
ROUNDED = "node:shop/price.py:rounded"
TEST = """from shop.cart import Cart


def test_total():
    assert Cart().total([1]) == 1
"""
ORDER = """from shop.cart import Cart


def checkout():
    cart = Cart()
    return cart.total([1, 2])
"""
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": CART,
    "shop/price.py": PRICE,
    "shop/order.py": ORDER,
    "tests/test_cart.py": TEST,
}
MORE = {
    "front/__init__.py": "from shop.cart import Cart\n",
    "a:b.py": "def f(): ...\n",
    "again.py": "def f(a): ...\n" * 3 + "f(1)\n",
    "other.py": "def checkout(): ...\n",
    "stock.py": "class Stock:\n    def take(self): ...\ndef use():\n" + "    Stock().take()\n" * 40,
    "shop/made.py": "class Made:\n    def __init__(self): ...\nclass Sub(Made): ...\nSub()\n",
    "shop/price.pyi": "def rounded(value: float) -> int:\n    'Round down.'\n",
    "many.py": "@deco(\n" + "    1,\n" * 46 + ")\ndef many(): ...\n",
    "tests/test_many.py": "from many import many\n"
    + "".join(f"def test_{number}(): many()\n" for number in range(30)),
    "bad\x1b[31m.py": 'def odd(): "\x1b[2Jdoc"\n',
}
"""Files for questions about odd nodes."""


def shop_in(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir()
    root = write(folder, files)
    git(root, "init", "-q")
    return root


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_in(tmp_path / "shop", FILES)


@dataclass(frozen=True)
class Asked:
    """A shop with an index. Only for questions that change nothing."""

    remora: Remora
    root: Path

    def __call__(self, *words: str, folder: str = ".") -> Done:
        return self.remora("hub", *words, cwd=self.root / folder)

    def document(self, *words: str, folder: str = ".") -> Any:
        done = self(*words, "--json", folder=folder)
        assert done.code == 0, done.err
        return done.document

    def on_terminal(self, *words: str, columns: int = 100) -> str:
        shown = on_terminal(self.remora, self.root, "hub", *words, columns=columns)
        return click.unstyle(shown)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("asked")
    root = shop_in(folder / "shop", {**FILES, **MORE})
    asked = Asked(user_without_weights(folder / "home"), root)
    first = asked("get", "Cart.total")
    assert first.code == 0
    assert "there is no index yet: building it" in first.err
    return asked


def test_a_node_as_json_is_a_node_state(asked: Asked) -> None:
    assert asked("get", "Cart.total").err == ""
    assert not {".agentfs", ".remora"} & {path.name for path in asked.root.iterdir()}
    node = asked.document("get", "shop/cart.py:Cart.total", "--quiet")
    assert list(node)[:5] == ["key", "file_path", "node_name", "node_type", "source_hash"]
    assert list(node)[-2:] == ["update_source", "fresh"]
    assert node["fresh"] is True
    assert node["key"] == "node:shop/cart.py:Cart.total"
    assert (node["line_start"], node["line_count"], node["complexity"]) == (8, 5, 2)
    assert node["update_source"] == "cold_start"
    assert {edge["key"] for edge in node["callers"]} >= {
        "node:shop/order.py:checkout",
        "node:tests/test_cart.py:test_total",
    }
    assert node["related_tests"][0]["id"] == "tests/test_cart.py::test_total"


NAMED = {
    (".", "a:b.py:f"): "a:b.py:f",
    (".", "tests/test_cart.py::test_total[1-2]"): "tests/test_cart.py:test_total",
    (".", "front.Cart"): "shop/cart.py:Cart",
    ("shop", "../tests/test_cart.py:test_total"): "tests/test_cart.py:test_total",
    ("shop", "{link}/shop/cart.py:Cart"): "shop/cart.py:Cart",
}
"""Names as they are typed in a folder; `tests/hub/client/test_node_lookup.py` has all spellings."""
ELSEWHERE = {
    "../../elsewhere.py:f": "", "::": "", "/etc/passwd": "is outside the root",
}  # fmt: skip


def test_a_node_may_be_named_in_several_ways(asked: Asked) -> None:
    link = asked.root.parent / "link"
    link.symlink_to(asked.root)
    for (folder, name), key in NAMED.items():
        told = asked.document("callees", name.format(link=link), folder=folder)
        assert told["node"] == f"node:{key}"
    for name, said in ELSEWHERE.items():
        done = asked("get", name, "--json")
        assert (done.code, done.error["code"]) == (1, "not_found"), name
        assert said in done.error["message"]


def test_a_stub_is_meant_by_its_path_and_its_module_by_a_name(asked: Asked) -> None:
    described, stub = (
        asked.document("get", name) for name in ("rounded", "shop/price.pyi:rounded")
    )
    assert described["key"] == ROUNDED
    assert (stub["signature"], stub["docstring"]) == (described["signature"], "Round down.")
    assert stub["callers"] == described["callers"] != []
    nodes = asked.document("search", "rounded")["nodes"]
    assert [node["key"] for node in nodes] == [ROUNDED, stub["key"]]


def test_a_name_of_no_node_or_of_several_is_reported(asked: Asked) -> None:
    for kind in ("get", "callers", "callees", "tests"):
        unknown = asked(kind, "Cart.totel", "--json")
        assert (unknown.code, unknown.error["code"]) == (1, "not_found")
        assert unknown.error["message"] == "there is no node Cart.totel"
        assert "shop/cart.py:Cart.total" in unknown.error["hint"]
    ambiguous = asked("get", "checkout", "--json")
    assert ambiguous.code == 2
    assert ambiguous.error["message"] == "checkout is ambiguous: 2 nodes match"
    assert "shop/order.py:checkout" in ambiguous.error["hint"]
    assert "other.py:checkout" in ambiguous.error["hint"]
    for kind in ("get", "callers"):
        told = asked(kind, "again.py:f", "--json")
        assert "again.py:f is the first of 3 definitions; the last is again.py:f#3" in told.err
        assert "definitions" not in asked(kind, "again.py:f#3").err


def test_an_edit_is_in_the_next_answer_also_if_the_index_cannot_be_read(
    poor: Remora, shop: Path
) -> None:
    poor("hub", "index", cwd=shop)
    write(shop, {"shop/price.py": PRICE.replace("value: float", "value: float, digits=0")})
    node = poor("hub", "get", "rounded", "--json", cwd=shop).document
    assert node["signature"] == "def rounded(value: float, digits=0) -> int"
    (db,) = (poor.home / "cache").rglob("hub.db")
    for damage in (lambda: db.write_bytes(b"rubbish" * 1000), lambda: outdate(db)):
        damage()
        asked = poor("hub", "callers", "Cart.total", "--json", cwd=shop)
        assert "the index cannot be read: building it" in asked.err
        assert len(asked.document["callers"]) == 3
        assert poor("hub", "get", "rounded", cwd=shop).err == ""


def outdate(db: Path) -> None:
    with contextlib.closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA user_version = 1")


@pytest.mark.slow
def test_where_no_index_can_be_made_a_whole_name_is_known_and_links_are_unknown(
    poor: Remora, shop: Path
) -> None:
    """`pytest $(remora hub tests …)` would take what is printed for an id."""
    poor("hub", "index", cwd=shop)
    (db,) = (poor.home / "cache").rglob("hub.db")
    db.write_bytes(b"rubbish" * 1000)
    kinds, whole = ("tests", "callers", "callees"), "shop/cart.py:Cart.total"
    questions = [
        ("get", whole, "--json"), ("get", "Cart.total", "--json"),
        *((kind, whole) for kind in kinds), *((kind, whole, "--json") for kind in kinds),
    ]  # fmt: skip
    writer = OwnerLock(db.with_name("hub.db.lock"))
    with contextlib.closing(writer), ThreadPoolExecutor() as pool:  # each command waits for it
        got, part, *rest = pool.map(lambda words: poor("hub", *words, cwd=shop), questions)
    assert "is being written by process" in got.err
    assert (got.document["key"], got.document["callers"]) == (f"node:{whole}", None)
    assert (part.code, part.error["code"]) == (3, "outside_error")
    for kind, asked, told in zip(kinds, rest[:3], rest[3:], strict=True):
        assert (asked.code, asked.out) == (3, "")
        assert f"the {kind} of {whole} are unknown" in asked.err
        assert "there is no index" in asked.err
        assert told.code == 3
        assert (told.document[kind], told.document["fresh"]) == (None, False)


@pytest.mark.slow
def test_a_daemon_that_has_just_begun_is_waited_for(poor: Remora, shop: Path) -> None:
    body = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(400))
    write(shop, {f"many/m{n}.py": body for n in range(60)})
    git(shop, "add", "-A")
    try:
        assert poor("hub", "start", cwd=shop).code == 0
        asked = poor("hub", "callers", "rounded", "--json", cwd=shop)
        assert asked.code == 0, asked.err
        assert [edge["key"] for edge in asked.document["callers"]] == [
            "node:shop/cart.py:Cart.total"
        ]
    finally:
        poor("hub", "stop", cwd=shop)


def test_links_as_json_are_what_the_protocol_says(asked: Asked) -> None:
    told = asked.document("callees", "rounded")
    assert set(told) == {"node", "callees", "fresh", "generation"}
    assert told["callees"] == [{"key": "ext:math.floor", "tier": "exact", "lines": [5]}]
    assert told["fresh"] is True
    tests = asked.document("tests", "Cart.total")
    assert {"id": "tests/test_cart.py::test_total", "tier": "exact"} in tests["tests"]
    direct = asked.document("callers", "rounded")["callers"]
    deeper = asked.document("callers", "rounded", "--depth", "3")["callers"]
    assert [edge["key"] for edge in direct] == ["node:shop/cart.py:Cart.total"]
    assert "node:shop/order.py:checkout" in [edge["key"] for edge in deeper]
    assert asked("callers", "rounded", "--depth", "0").code == 2


def test_in_a_pipe_tests_are_what_pytest_takes(asked: Asked) -> None:
    assert asked("tests", "Cart.total").out == "tests/test_cart.py::test_total\n"
    shown = asked.on_terminal("tests", "Cart.total")
    assert "shop/cart.py:Cart.total: 1 test" in shown
    assert "exact  tests/test_cart.py::test_total" in shown


def test_the_nearest_of_many_tests_are_named(asked: Asked) -> None:
    found = asked("tests", "many", "--limit", "2")
    assert found.out == "tests/test_many.py::test_0\ntests/test_many.py::test_1\n"
    assert "these are the nearest of 30 tests; --limit shows more" in found.err
    told = asked.document("tests", "many")
    assert (len(told["tests"]), told["total"]) == (20, 30)
    assert "total" not in asked.document("tests", "many", "--limit", "30")


def test_a_page_fits_a_screen(asked: Asked) -> None:
    lines = asked("get", "many").out.splitlines()
    assert len(lines) <= 40
    assert {"    and 43 lines more; -v shows all", "    and 25 more; -v shows all"} <= {*lines}
    assert len(asked("get", "many", "-v").out.splitlines()) > 80


def test_an_entry_point_is_a_name(asked: Asked) -> None:
    assert (
        asked.document("callers", "shop.cart:Cart.total")["node"] == "node:shop/cart.py:Cart.total"
    )
    assert asked.document("callers", "front:Cart")["node"] == "node:shop/cart.py:Cart"


def test_a_search_finds_words_in_any_order(asked: Asked) -> None:
    found = asked.document("search", "total", "cart")
    assert found["query"] == "total cart"
    assert {
        "key": "node:shop/cart.py:Cart.total",
        "node_type": "function",
        "signature": "def total(self, items: list[int], *, currency: str='EUR') -> int",
    } in found["nodes"]
    shown = asked("search", "total", "--limit", "1")
    assert "showing 1 match; use --limit to see more" in shown.out
    assert asked("search", "nosuchword").out == "no matching nodes\n"


def test_the_page_of_a_node_reads_from_what_it_is_to_who_uses_it(asked: Asked) -> None:
    page = asked.on_terminal("get", "Cart.total", columns=60)
    lines = [line.rstrip() for line in page.splitlines()]
    assert lines[0].startswith("def total(self, items: list[int]")
    assert "    Sum of the prices of what is in the cart." in lines
    titles = [line.split("  ")[0] for line in lines if line[:4].isupper()]
    assert titles == ["CALLED BY", "CALLS", "TESTS"]
    assert any(line.startswith("where") and "shop/cart.py:8, 5 lines" in line for line in lines)
    assert any("complexity 2, fully annotated" in line for line in lines)
    assert any(line.startswith("up to date · changed ") for line in lines)


def test_many_calls_are_cut_and_listed_with_v(asked: Asked) -> None:
    assert "lines 4, 5, 6, 7, 8, 9 and 34 more" in asked("get", "stock.py:use").out
    every = asked("callees", "stock.py:use", "-v").out
    assert " more" not in every
    assert all(f" {number}" in every for number in range(4, 44))


def test_a_module_has_no_callers_and_a_class_names_its_constructor(asked: Asked) -> None:
    module = asked.on_terminal("get", "shop/cart.py")
    assert "CALLED BY" not in module
    assert "CALLS" in module
    said = "`remora hub callers shop/made.py:Made.__init__`"
    for words in (("get", "Sub"), ("callers", "Sub"), ("callers", "Made")):
        assert said in asked.on_terminal(*words), words
    assert "remora hub callers" not in asked.on_terminal("get", "Cart")


def test_a_foreign_name_cannot_command_the_terminal(asked: Asked) -> None:
    for words in (("get", "odd"), ("search", "bad"), ("callers", "odd"), ("index",)):
        assert "\x1b" not in asked(*words).out


def test_an_index_counts_and_reports_files_that_are_not_whole(poor: Remora, shop: Path) -> None:
    write(shop, {"broken.py": "def good(): ...\ndef bad(:\n"})
    made = poor("hub", "index", "--json", cwd=shop)
    assert made.code == 0
    document = made.document
    assert set(document) == {"files", "nodes", "changed", "errors", "seconds"}
    assert document["files"] == 6
    assert document["changed"] == document["nodes"]
    assert [error["path"] for error in document["errors"]] == ["broken.py"]
    again = poor("hub", "index", "--json", cwd=shop).document
    assert again["changed"] == 0
    assert again["errors"] == document["errors"]
    assert "broken.py: " in poor("hub", "index", cwd=shop).out
    node = poor("hub", "get", "good", "--json", cwd=shop).document
    assert node["partial"] is True


def test_another_database_is_another_index_and_is_rebuilt_if_damaged(
    poor: Remora, shop: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / "my.db"
    assert poor("hub", "index", "--db", elsewhere, cwd=shop).code == 0
    assert elsewhere.exists()
    node = poor("hub", "get", "rounded", "--db", elsewhere, "--json", cwd=shop)
    assert node.document["key"]
    assert not list((poor.home / "cache").rglob("hub.db"))
    for damage in (b"", b"rubbish" * 1000):
        elsewhere.write_bytes(damage)
        assert poor("hub", "index", "--db", elsewhere, cwd=shop).code == 0
        assert matches_files(shop, elsewhere)


def test_a_file_that_is_not_a_database_of_the_hub_is_never_written(
    poor: Remora, shop: Path, tmp_path: Path
) -> None:
    letter, foreign = tmp_path / "letter.txt", tmp_path / "foreign.db"
    letter.write_text("dear all\n" * 1000)
    with contextlib.closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    for path in (letter, foreign):
        before = path.read_bytes(), path.stat().st_mode
        for words in ("index", "get rounded", "start"):
            refused = poor("hub", *words.split(), "--db", path, cwd=shop)
            assert refused.code == 2
            assert "not a Hub database" in refused.err
            assert (path.read_bytes(), path.stat().st_mode) == before
    assert {path for path in tmp_path.iterdir() if path.is_file()} == {foreign, letter}


BESIDE = ["lock", "daemon", "token", "addresses", "log", "log.1"]


def test_a_file_beside_a_named_database_that_no_hub_made_is_never_written(
    poor: Remora, shop: Path, tmp_path: Path
) -> None:
    for name in (*(f"my.db.{suffix}" for suffix in BESIDE), "my.db-wal"):
        foreign = tmp_path / name
        foreign.write_text("mine since 1999\n")
        for command in ("index", "start") if name.endswith(("daemon", "log")) else ("index",):
            refused = poor("hub", command, "--db", tmp_path / "my.db", "--json", cwd=shop)
            assert (refused.code, refused.error["code"]) == (2, "usage_error"), name
            assert name in refused.error["message"]
            assert [path.name for path in tmp_path.glob("my*")] == [name]
            assert foreign.read_text() == "mine since 1999\n"
        foreign.unlink()
    (tmp_path / "my.db.lock").symlink_to(shop / "shop/cart.py")
    assert poor("hub", "index", "--db", tmp_path / "my.db", cwd=shop).code == 2


def matches_files(root: Path, database: Path) -> bool:
    view = open_snapshot(database)
    assert view is not None
    with contextlib.closing(view):
        return verify(root, Members(root), view).ok


@pytest.mark.slow
def test_a_running_daemon_writes_and_answers(poor: Remora, shop: Path) -> None:
    started = poor.afresh("hub", "start", "--json", cwd=shop)
    try:
        assert started.code == 0, started.err
        write(shop, {"new.py": "def fresh(): ...\n", "broken.py": "def bad(:\n"})
        made = poor("hub", "index", cwd=shop)
        assert "broken.py: " in made.out
        assert f"by the daemon (process {started.document['pid']})" in made.out
        node = poor("hub", "get", "fresh", "--json", cwd=shop).document
        assert node["key"] == "node:new.py:fresh"
        assert matches_files(shop, next((poor.home / "cache").rglob("hub.db")))
        unknown = poor("hub", "get", "nobody", "--json", cwd=shop)
        assert unknown.code == 1
        assert json.loads(unknown.out)["error"]["code"] == "not_found"
    finally:
        poor.afresh("hub", "stop", cwd=shop)


def test_a_database_that_holds_nothing_yet_is_filled(poor: Remora, shop: Path) -> None:
    files = {path: path.read_bytes() for path in shop.rglob("*.py")}
    for path in files:
        path.unlink()
    assert poor("hub", "index", "--json", cwd=shop).document["nodes"] == 0
    for path, content in files.items():
        path.write_bytes(content)
    asked = poor("hub", "callers", "Cart.total", cwd=shop)
    assert "the index is not complete: building it" in asked.err
    assert poor("hub", "status", "--json", cwd=shop).document["files"] == len(files)


def test_an_interrupted_index_is_completed_by_the_next_question(poor: Remora, shop: Path) -> None:
    assert poor("hub", "index", cwd=shop).code == 0
    call = "from shop.cart import Cart\n\n\ndef use():\n    return Cart().total()\n"
    write(shop, {f"many/m{number}.py": call for number in range(101)})
    asked = poor("hub", "callers", "Cart.total", "--json", cwd=shop)
    assert "the index is not complete: building it" in asked.err
    assert len(asked.document["callers"]) > 100
    assert poor("hub", "callers", "Cart.total", cwd=shop).err == ""


def test_tests_that_coverage_saw_are_added(poor: Remora, shop: Path) -> None:
    write(shop, {"tests/test_by_name.py": "def test_all():\n    pass\n"})
    time.sleep(0.05)  # files of one tick of the clock may be newer than the coverage file
    data = CoverageData(str(shop / ".coverage"))
    for context, lines in (("", [1, 4]), ("tests/test_by_name.py::test_all|run", [5])):
        data.set_context(context)
        data.add_lines({str(shop / "shop/price.py"): lines})
    data.close()
    found = poor("hub", "tests", "rounded", "--json", cwd=shop).document
    assert found["tests"][-1] == {"id": "tests/test_by_name.py::test_all", "tier": "covered"}
    day = found["coverage"]["day"]
    assert found["coverage"] == {"file": ".coverage", "day": day, "note": ""}
    shown = click.unstyle(on_terminal(poor, shop, "hub", "tests", "rounded"))
    assert "covered  tests/test_by_name.py::test_all" in shown
    assert f"covered: seen by coverage of {day}" in shown
    write(shop, {"shop/price.py": PRICE.replace("floor", "ceil")})
    changed = poor("hub", "tests", "rounded", cwd=shop)
    assert changed.out == "tests/test_cart.py::test_total\n"
    assert f"shop/price.py changed after the coverage of {day}" in changed.err


@pytest.mark.slow
def test_gits_index_is_read_and_never_locked(shop: Path, poor: Remora) -> None:
    for said in ("init -q", "add -A", "commit -q -m one"):
        git(shop, *said.split())
    os.utime(shop / "shop/cart.py", (1, 1))  # git would like to write down what it sees now
    (shop / ".git/index.lock").write_text("an operation under way")

    def seen() -> dict[Path, tuple[int, int]]:
        there = [(path, path.lstat()) for path in (shop / ".git").rglob("*")]
        return {path: (about.st_mtime_ns, about.st_ino) for path, about in there}

    before = seen()
    for words in (("index",), ("get", ROUNDED), ("callers", ROUNDED)):
        done = poor("hub", *words, "--json", cwd=shop)
        assert done.code == 0, done.err
    assert seen() == before
