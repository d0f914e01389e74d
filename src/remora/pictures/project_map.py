"""The map of a project: folders and files as frames, nodes as cells colored by what they lack."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from markupsafe import Markup

from remora.ids import MODULE, display_name
from remora.pictures.figure import WIDTH, Frame, Key, Table, clipped, figure
from remora.pictures.markup import element, link
from remora.pictures.node_tree import (
    DEBTS,
    Branch,
    Debt,
    Leaf,
    MapNode,
    joined_small,
    leaves_of,
    project_tree,
)
from remora.pictures.treemap import Rect, treemap
from remora.text import count

_HEIGHT = 560.0
_LEAST_AREA = 170.0
"""Least area of a cell: about the size of a character."""
_LABEL, _LINE = 15.0, 13.0
"""Heights of the label of a frame, and of a line of text."""
_MOST_ROWS = 100
_LETTERS: dict[Debt, str] = {
    "findings": "F",
    "unannotated": "T",
    "undocumented": "D",
    "untested": "U",
}
_WORDS: dict[Debt, str] = {
    "findings": "findings",
    "unannotated": "missing types",
    "undocumented": "missing docstring",
    "untested": "no test",
}
_QUESTIONS: dict[Debt, str] = {
    **_WORDS,
    "findings": "which functions have findings",
    "untested": "which functions tests reach",
}
_LEVELS = ("no problem", "one kind of problem", "two kinds", "three kinds", "all four kinds")

Href = Callable[[str], str]


def project_map(
    nodes: Sequence[MapNode],
    *,
    unknown: Collection[Debt] = (),
    note: str = "",
    href: Href | None = None,
) -> Markup:
    """Return the map of a project, or an empty text if there are no nodes.

    `unknown` names the debts that are not known, and `note` says what else is not shown. `href`
    returns the address of the page of a node's key.
    """
    if not nodes:
        return Markup("")
    whole = project_tree(nodes)
    tree = joined_small(whole, whole.size * _LEAST_AREA / (WIDTH * _HEIGHT))
    known = [debt for debt in DEBTS if debt not in unknown]
    frame = Frame(
        name="project-map",
        title="Project map",
        text=_text(nodes, tree, known, note),
        keys=_keys(nodes, known),
        table=_table(nodes, known),
        has_links=href is not None,
    )
    space = Rect(0.5, 0.5, WIDTH - 1, _HEIGHT - 1)
    return figure(frame, _HEIGHT, _branch(tree, space, href))


def _text(nodes: Sequence[MapNode], tree: Branch, known: Sequence[Debt], note: str) -> str:
    files = len({node.path for node in nodes})
    text = (
        f"{len(nodes):,} functions, classes and modules in {count(files, 'file')}; size is lines."
    )
    if joined := [leaf for leaf in leaves_of(tree) if len(leaf.nodes) > 1]:
        small = sum(len(leaf.nodes) for leaf in joined)
        text += (
            f" {small:,} small ones share {count(len(joined), 'cell')}, colored by their average."
        )
    left = [_QUESTIONS[debt] for debt in DEBTS if debt not in known]
    text += f" Not shown: {' and '.join(left)}." if left else ""
    return f"{text} {note}".rstrip()


def _keys(nodes: Sequence[MapNode], known: Sequence[Debt]) -> list[Key]:
    levels = [Key(f"debt-{level}", "", _LEVELS[level]) for level in range(len(known) + 1)]
    counts = Counter(debt for node in nodes for debt in node.debts)
    letters = [
        Key("debt-letter", _LETTERS[debt], f"{_WORDS[debt]}: {counts[debt]:,}") for debt in known
    ]
    return [*levels, *letters]


def _table(nodes: Sequence[MapNode], known: Sequence[Debt]) -> Table:
    files: dict[str, list[MapNode]] = {}
    for node in nodes:
        files.setdefault(node.path, []).append(node)
    counts = {
        path: Counter(debt for node in inside for debt in node.debts)
        for path, inside in files.items()
    }
    worst = sorted(files, key=lambda path: (-counts[path].total(), path))
    rows = [
        (
            path,
            f"{_lines(files[path]):,}",
            f"{len(files[path]):,}",
            *(f"{counts[path][debt]:,}" for debt in known),
        )
        for path in worst[:_MOST_ROWS]
    ]
    left = len(worst) - len(rows)
    heads = ("file", "lines", "symbols", *(_WORDS[debt] for debt in known))
    return Table(heads, rows, f"{count(left, 'more file')} with less to do." if left else "")


def _lines(nodes: Sequence[MapNode]) -> int:
    return max((node.lines for node in nodes if node.qualname == MODULE), default=0)


def _branch(branch: Branch, space: Rect, href: Href | None) -> Iterator[Markup]:
    has_label = bool(branch.name) and space.width >= 40 and space.height >= 2 * _LABEL
    yield element(
        "g", element("title", f"{branch.path or 'project'}: {count(branch.size, 'line')}"),
        element("rect", **_box(space), class_="frame"),
    )  # fmt: skip
    if has_label:
        label = clipped(branch.name, space.width - 8)
        yield element("text", label, x=space.x + 4, y=space.y + 11, class_="label strong")
    inner = space.within(_LABEL if has_label else 1)
    places = treemap([part.size for part in branch.parts], inner)
    for part, place in zip(branch.parts, places, strict=True):
        if isinstance(part, Branch):
            yield from _branch(part, place, href)
        else:
            yield _leaf(part, place, href)


def _leaf(leaf: Leaf, place: Rect, href: Href | None) -> Markup:
    shape = element(
        "g",
        element("title", _title(leaf)),
        element("rect", **_box(place), class_=f"debt-{leaf.level}"),
        *_words(leaf, place),
    )
    return shape if href is None or len(leaf.nodes) > 1 else link(href(leaf.nodes[0].key), shape)


def _words(leaf: Leaf, place: Rect) -> Iterator[Markup]:
    """Yield the name of a cell and the letters of its debts, if there is room for them."""
    letters = "".join(_LETTERS[debt] for debt in DEBTS if leaf.debts.get(debt))
    name = leaf.name if len(leaf.nodes) > 1 else leaf.name.rpartition(".")[2]
    lines = [
        clipped(name, place.width - 4),
        letters if len(letters) * 7.2 + 4 <= place.width else "",
    ]
    if place.width < 40:
        lines = lines[1:]
    elif place.height < 2 * _LINE + 2:
        lines = [lines[1] or lines[0]]
    if place.height < _LINE:
        return
    for number, line in enumerate(filter(None, lines), 1):
        yield element("text", line, x=place.x + 3, y=place.y + number * _LINE - 2)


def _title(leaf: Leaf) -> str:
    size = count(leaf.size, "line")
    if len(leaf.nodes) == 1:
        lacks = ", ".join(_WORDS[debt] for debt in DEBTS if leaf.debts.get(debt))
        return f"{display_name(leaf.nodes[0].key)}, {size}: {lacks or 'no problem'}"
    lacks = ", ".join(f"{_WORDS[d]} {n:,}" for d in DEBTS if (n := leaf.debts.get(d)))
    files = sorted({node.path for node in leaf.nodes})
    where = files[0] if len(files) == 1 else f"{len(files):,} files"
    return f"{len(leaf.nodes):,} small symbols of {where}, {size}: {lacks or 'no problem'}"


def _box(place: Rect) -> dict[str, float]:
    return {"x": place.x, "y": place.y, "width": place.width, "height": place.height}
