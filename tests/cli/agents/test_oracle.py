"""With the answers of people, `eval` gets back nearly all that it hides."""

from dataclasses import replace
from pathlib import Path

import pytest

from remora.operations.types.hidden_annotations import find_annotations
from tests.cli.conftest import Remora, git, tree, write
from tests.oracle_server import oracle_server

LEAST = 0.95
ROOM = {"REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000"}
"""For servers that do not count tokens, so that each byte counts as one."""
FUNCTIONS = {
    "area": ("Compute how much space a rectangle covers.", "The covered space."),
    "blend": ("Mix two colours in equal shares.", "The mixture."),
    "clamp": ("Keep a number between two bounds.", "The nearest number inside."),
    "divide": ("Split a sum among several people.", "What each person gets."),
    "encode": ("Turn text into bytes for the network.", "The bytes to send."),
    "flatten": ("Remove one level of nesting from a list.", "A list without nesting."),
    "group": ("Collect equal neighbours into lists.", "The lists in their old order."),
    "hide": ("Cover every digit with an asterisk.", "The covered text."),
    "indent": ("Move all lines to the right.", "The moved lines."),
    "join": ("Connect words with commas and a final conjunction.", "A phrase."),
    "kill": ("End a child process and everything it started.", "The number of processes."),
    "limit": ("Take as many rows as fit on a page.", "The rows of the page."),
}
PARAMETERS = {
    "start": "What the caller begins with.",
    "step": "What is added to it.",
    "times": "How often that happens.",
}
"""Suffixes of the parameters: a name that many lists leave out would not be missed."""


def google(name: str, summary: str, outcome: str) -> str:
    entries = "".join(f"        {name}_{key}: {text}\n" for key, text in PARAMETERS.items())
    return function(
        name, f"{summary}\n\n    Args:\n{entries}\n    Returns:\n        {outcome}\n    "
    )


def numpy(name: str, summary: str, outcome: str) -> str:
    entries = "".join(
        f"    {name}_{key} : int\n        {text}\n" for key, text in PARAMETERS.items()
    )
    head = f"{summary}\n\n    Parameters\n    ----------\n{entries}"
    return function(name, f"{head}\n    Returns\n    -------\n    int\n        {outcome}\n    ")


def sphinx(name: str, summary: str, outcome: str) -> str:
    entries = "".join(f"    :param {name}_{key}: {text}\n" for key, text in PARAMETERS.items())
    return function(name, f"{summary}\n\n{entries}    :returns: {outcome}\n    ")


def function(name: str, docstring: str) -> str:
    typed = ", ".join(f"{name}_{each}: int" for each in PARAMETERS)
    code = f"    return {name}_start + {name}_step * {name}_times\n"
    return f'def {name}({typed}) -> int:\n    """{docstring}"""\n{code}'


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("renderer", ["lines", "json", "functiongemma"])
def test_what_people_wrote_comes_back(poor: Remora, tmp_path: Path, renderer: str) -> None:
    files = {
        f"{style.__name__}_style/{part}.py": "\n\n".join(
            style(name, *texts) for name, texts in list(FUNCTIONS.items())[part::2]
        )
        for style in (google, numpy, sphinx)
        for part in (0, 1)
    }
    root = write(tmp_path / "documented", files)
    git(root, "init", "-q")
    before = tree(root)
    with oracle_server(files=files) as server:
        arm = f"{server.address},renderer={renderer}"
        words = ("eval", "-o", "docstring", "--arm", arm, "--arm", "rules", "--json")
        done = replace(poor, environ=ROOM).afresh(*words, cwd=root, limit_s=200)
        used = {"REMORA_MODEL__BASE_URL": server.address, "REMORA_MODEL__RENDERER": renderer}
        status = replace(poor, environ={**poor.environ, **used})("model", "status", cwd=root)
    assert done.code == 0, done.err
    (operation,) = done.document["operations"]
    found = operation["arms"][0]
    assert (operation["targets"], found["error"]) == (36, None)
    assert set(operation["kinds"]) == {"summary", "parameters"}
    assert found["restored"] >= LEAST, operation["examples"]
    assert "+100 percentage points against rules (+100 to +100): better than rules" in status.out
    assert tree(root) == before


ORDERS = """\
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal


class Order:
    def __init__(self, number: int, lines: dict[str, Decimal]) -> None:
        self.number = number
        self.lines = lines

    def convert(self, rates: Mapping[str, Decimal], currency: str | None) -> "Order":
        return Order(self.number, {k: v * rates[currency or k] for k, v in self.lines.items()})

    def visit(self, visitor: Callable[[str, Decimal], bool]) -> Iterator[str]:
        return (name for name, price in self.lines.items() if visitor(name, price))


def merge(orders: Iterable[Order], key: Callable[[Order], str]) -> dict[str, list[Order]]:
    found: dict[str, list[Order]] = {}
    for order in orders:
        found.setdefault(key(order), []).append(order)
    return found


def cheapest(orders: list[Order], prices: dict[int, Decimal]) -> Order | None:
    return min(orders, key=lambda order: prices[order.number], default=None)


def find(orders: Mapping[int, Order], wanted: tuple[int, ...]) -> list[Order | None]:
    return [orders.get(number) for number in wanted]


def chunks(rows: list[tuple[str, Decimal]], size: int) -> Iterator[list[tuple[str, Decimal]]]:
    while rows:
        yield rows[:size]
        rows = rows[size:]


def parse(lines: Iterable[str], pick: Callable[[str], tuple[str, str]]) -> dict[str, Decimal]:
    return {name: Decimal(price) for name, price in map(pick, lines)}
"""


@pytest.mark.slow
def test_types_that_people_wrote_come_back(poor: Remora, tmp_path: Path) -> None:
    settings = '[project]\nname = "orders"\nrequires-python = ">=3.11"\n[tool.ty]\n'
    files = {"orders.py": ORDERS}
    limit = "runner: {memory: {packet_size_limit: 12000}}"
    root = write(tmp_path / "typed", {**files, "pyproject.toml": settings, "remora.yaml": limit})
    git(root, "init", "-q")
    before = tree(root)
    slots = find_annotations(files)
    with oracle_server(slots) as server:
        arms = ("--arm", "rules", "--arm", server.address)
        done = replace(poor, environ=ROOM)("eval", "-o", "types", *arms, "--json", cwd=root)
    assert done.code == 0, done.err
    (operation,) = done.document["operations"]
    rules, oracle = operation["arms"]
    assert (operation["targets"], oracle["error"]) == (len(slots), None)
    assert oracle["restored"] >= LEAST, operation["examples"]
    assert rules["outcomes"]["left"] > len(slots) / 3, "rules alone leave much"
    assert tree(root) == before


BROKEN = {
    "    return price * (1 + rate)": "    return pirce * (1 + rate)",
    '    return "%s: %s" % (name, amount)': '    return "%s: %s" % (name,)',
    '    return "{} of {}".format(part, whole)': '    return "{} of {}".format(part)',
    "    return max(sizes, default=0)": "    return max(size, default=0)",
    '    return "%(name)s, %(town)s" % {"name": name, "town": town}': (
        '    return "%(name)s, %(town)s" % {"name": name}'
    ),
    "    return dict(zip(first, second))": "    return dict(zip(first, secnod))",
    "    return sorted(names, key=len)": "    return sorted(names, key=lenght)",
    "    return path.rpartition(separator)[2]": "    return path.rpartition(seperator)[2]",
    "    if isinstance(value, tuple):": "    if isinstance(value, tupel):",
    '    return "%d items" % (count,)': '    return "%d items" % ()',
    "    return [*head, *tail]": "    return [*head, *tails]",
    "    assert width > 0, width": "    assert (width > 0, width)",
}
"""Lines that people wrote, and faults in them that ruff finds and cannot fix."""
LINES = "\n\n".join(
    f"def f{number}(price, rate, name, amount, part, whole, sizes, town, first, second, names,"
    f" path, separator, value, count, head, tail, width):\n{line}\n"
    + ("        return 1\n" if line.endswith(":") else "")
    for number, line in enumerate(BROKEN)
)


@pytest.mark.slow
def test_lines_that_people_wrote_come_back(poor: Remora, tmp_path: Path) -> None:
    parts = LINES.split("\n\n")
    right = {f"part{number}.py": "\n\n".join(parts[number::2]) for number in (0, 1)}
    faulty = right
    for line, fault in BROKEN.items():
        faulty = {path: text.replace(line, fault) for path, text in faulty.items()}
    settings = {"ruff.toml": "line-length = 200\n[lint]\nselect = ['F']\n"}
    root = write(tmp_path / "lines", {**faulty, **settings})
    git(root, "init", "-q")
    by_rules = poor("analyze", "-o", "lint", "--json", cwd=root).document
    assert by_rules["jobs"] == [], "rules have no fix"
    with oracle_server(lines={fault: line for line, fault in BROKEN.items()}) as server:
        options = ("--model", server.address, "--decisions", "model")
        done = replace(poor, environ=ROOM)("analyze", "-o", "lint", *options, cwd=root)
        assert done.code == 0, done.err + done.out
        assert poor("accept", "last", "--all", cwd=root).code == 0
    written = "".join((root / path).read_text() for path in right)
    back = [line for line in BROKEN if f"{line}\n" in written]
    assert len(back) / len(BROKEN) >= LEAST, set(BROKEN) - set(back)
