"""The map: every line of code is in exactly one cell, and what a node lacks is visible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.ids import MODULE
from remora.pictures.node_tree import (
    DEBTS,
    Debt,
    MapNode,
    joined_small,
    leaves_of,
    own_lines,
    project_tree,
)
from remora.pictures.project_map import project_map
from tests.pictures.drawn import HOSTILE, assert_harmless, boxes, parsed, texts


def node(path: str, qualname: str, lines: int, *debts: Debt) -> MapNode:
    return MapNode(
        path=path,
        qualname=qualname,
        lines=lines,
        debts=frozenset(debts),
    )


def file(path: str, *sizes: int, debts: tuple[Debt, ...] = ()) -> list[MapNode]:
    """A module of functions with these numbers of lines, and three lines more."""
    functions = [node(path, f"f{number}", size, *debts) for number, size in enumerate(sizes)]
    return [node(path, MODULE, sum(sizes) + 3), *functions]


PROJECT = [
    *file("src/shop/cart.py", 40, 30, debts=("unannotated", "untested")),
    *file("src/shop/tax.py", 20),
    *file("src/shop/api/http.py", 80, debts=DEBTS),
    *file("setup.py", 5),
]
PROJECTS = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(
        lambda parts: "/".join(parts) + ".py"
    ),
    st.lists(st.integers(1, 400), max_size=8),
    min_size=1,
    max_size=25,
).map(lambda files: [each for path, sizes in files.items() for each in file(path, *sizes)])


@given(PROJECTS)
def test_cells_are_within_the_map_and_do_not_overlap(nodes: list[MapNode]) -> None:
    cells = boxes(project_map(nodes), "debt-")
    for number, cell in enumerate(cells):
        assert 0 <= cell.x <= cell.right <= 900.1
        assert 0 <= cell.y <= cell.bottom <= 560.1
        assert not any(cell.overlaps(other) for other in cells[number + 1 :])


@given(PROJECTS, st.floats(0, 500))
def test_no_node_and_no_line_is_lost(nodes: list[MapNode], least: float) -> None:
    tree = joined_small(project_tree(nodes), least)
    shown = [each for leaf in leaves_of(tree) for each in leaf.nodes]
    assert sorted(each.key for each in shown) == sorted(each.key for each in nodes)
    lines = sum(each.lines for each in nodes if each.qualname == MODULE)
    assert tree.size == sum(leaf.size for leaf in leaves_of(tree)) == lines


def test_a_class_has_only_the_lines_outside_its_methods() -> None:
    nodes = [
        node("a.py", MODULE, 50),
        node("a.py", "Cart", 30),
        node("a.py", "Cart.add", 12),
        node("a.py", "Cart.add.inner", 2),
        node("a.py", "other", 5),
    ]
    assert own_lines(nodes) == [15, 18, 10, 2, 5]


def test_folders_with_one_part_are_joined() -> None:
    tree = project_tree(PROJECT)
    assert {part.name for part in tree.parts} == {"src/shop", "setup.py"}


def test_a_cell_shows_what_its_node_lacks() -> None:
    picture = project_map(PROJECT)
    assert "src/shop/cart.py:f0, 40 lines: missing types, no test" in texts(picture, "title")
    assert {"TU", "FTDU"} <= set(texts(picture, "text"))
    assert len(boxes(picture, "debt-4")) == 1
    assert len(boxes(picture, "debt-2")) == 2
    keys = texts(picture, "li")
    assert {"Ffindings: 1", "Tmissing types: 3"} <= set(keys)
    assert {"Dmissing docstring: 1", "Uno test: 3"} <= set(keys)


def test_the_table_begins_with_the_file_that_lacks_most() -> None:
    rows = list(parsed(project_map(PROJECT)).iter("tr"))
    cells = ["".join(each.itertext()) for each in rows[1]]
    assert cells == ["src/shop/api/http.py", "83", "2", "1", "1", "1", "1"]


def test_what_is_not_known_is_said_and_not_counted() -> None:
    unknown: tuple[Debt, ...] = ("untested",)
    picture = project_map(PROJECT, unknown=unknown, note="Two are missing.")
    assert texts(picture, "desc")[0].endswith(
        "Not shown: which functions tests reach. Two are missing."
    )
    assert not [key for key in texts(picture, "li") if key.startswith("U")]
    assert "all four kinds" not in texts(picture, "li")


@pytest.mark.parametrize("files", [1, 20, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_large_project_has_few_cells_and_says_so(files: int) -> None:
    nodes = [
        each
        for number in range(files)
        for each in file(f"src/p{number % 40}/m{number}.py", *[10] * (20_000 // files))
    ]
    picture = project_map(nodes)
    assert len(boxes(picture, "debt-")) < 3500
    assert len(picture) < 1_000_000
    assert (
        f"{len(nodes):,} functions, classes and modules in {files:,} file"
        in texts(picture, "desc")[0]
    )
    assert "small ones share" in texts(picture, "desc")[0]


def test_a_project_without_nodes_has_no_map() -> None:
    assert project_map([]) == ""


def test_cells_are_links_where_a_page_is_known() -> None:
    picture = project_map(PROJECT, href=lambda key: f"/node?key={key}")
    links = [each.attrib["href"] for each in parsed(picture).iter("a")]
    assert "/node?key=node:src/shop/cart.py:f0" in links


def test_hostile_names_are_text() -> None:
    nodes = [*file(f"{HOSTILE}/{HOSTILE}.py", 9), node(f"{HOSTILE}/{HOSTILE}.py", HOSTILE, 50)]
    picture = project_map([*nodes, *PROJECT], href=lambda key: f"javascript:{key}")
    assert_harmless(picture)
    assert "<script>alert(1)</script>" in texts(picture, "table")[0]
