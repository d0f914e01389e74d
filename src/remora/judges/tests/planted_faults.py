"""Tests that no planted fault makes fail: what they assert does not depend on the code that they run.

    def test_total():
        cart = Cart(["a", "b"])
        cart.total()
        assert cart.items == ["a", "b"]

With each fault in `total`, this test passes. The functions that a test enters get faults, those that
it calls itself first, until one of its assertions fails. A fault that only crashes the test proves
nothing.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from remora.errors import HostError
from remora.ids import display_name, split_node_key, unescape_path
from remora.judges.faults.mutants import MAX_MUTANTS, mutants, reads_data
from remora.judges.runner.orders import fault_order, run_orders
from remora.judges.runner.parent import Order
from remora.judges.tests.entered_functions import Entered
from remora.judges.tests.written_test import WrittenTest
from remora.tools.tree import ToolTree

_MOST_FUNCTIONS = 12
"""Functions of a test in which faults are planted (decision)."""
_MANY_FAULTS = 60
"""Faults of a function, if it matters that two tests detect the same ones (decision)."""


class Planted(msgspec.Struct):
    """Result of planting faults under a test."""

    asserted: bool = False
    """True if a fault made an assertion fail."""
    raised: bool = False
    """True if a fault made the code raise an error, which the test may be about."""
    tried: int = 0
    """The number of faults."""
    passed: int = 0
    """The number of faults with which the test passes."""
    entered: int = 0
    """The number of functions that the test enters and that can have faults."""
    late: bool = False
    """True if there was no time for more faults."""
    functions: list[str] = msgspec.field(default_factory=list)
    """The names of the functions in which the faults were."""


class _Group(NamedTuple):
    """A function with faults, and the tests that it is tried with."""

    key: str
    faults: Sequence[str]
    order: Order


def plant_faults(
    place: ToolTree, tests: Sequence[WrittenTest], entered: Entered, is_over: Callable[[], bool]
) -> dict[str, Planted]:
    """Return what planted faults show of each test that entered a function of the project, by ID."""
    names = [test.id for test in tests]
    waiting = {name: keys for name in names if (keys := entered.get(name))}
    planted = {name: Planted(entered=len(keys)) for name, keys in waiting.items()}
    for step in range(_MOST_FUNCTIONS):
        groups = _groups(waiting, planted, step)
        if is_over():
            for name in itertools.chain.from_iterable(groups.values()):
                planted[name].late = True
            break
        made = {key: _faults(place, key) for key in groups}
        for key, names in groups.items():
            for name in names if not made[key] else ():
                planted[name].entered -= 1
        orders = [
            group
            for key, names in groups.items()
            if (group := _group(place, key, made[key], names))
        ]
        for group, result in zip(
            orders, run_orders(place, [group.order for group in orders]), strict=True
        ):
            _note(group, result, planted)
    return planted


def _groups(
    waiting: Mapping[str, Sequence[str]], planted: Mapping[str, Planted], step: int
) -> dict[str, list[str]]:
    """Return the functions that are next, with the tests of which no assertion has failed yet."""
    groups = dict[str, list[str]]()
    for name, keys in waiting.items():
        if not planted[name].asserted and step < len(keys):
            groups.setdefault(keys[step], []).append(name)
    return groups


def faults_detected(
    place: ToolTree, functions: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, set[int]] | None]:
    """Return for each function the numbers of the faults for which each of its tests fails.

    `functions` maps keys to the IDs of tests. If not all faults could be tried, the value is None, as
    for a function that reads a table or pattern, whose entries are not tried.
    """
    read = {key: _read(place, key) for key in functions}
    untried = {key for key, (code, name) in read.items() if not code or reads_data(code, name)}
    faults = {key: _faults(place, key, _MANY_FAULTS) for key in functions if key not in untried}
    groups = [
        group
        for key, planted in faults.items()
        if (group := _group(place, key, planted, functions[key]))
    ]
    results = run_orders(place, [{**group.order, "whole": True} for group in groups])
    detected: dict[str, dict[str, set[int]] | None] = {
        key: None if key in untried or faults[key] else {} for key in functions
    }
    for group, result in zip(groups, results, strict=True):
        is_complete = result is not None and result.get("tried") == len(group.faults)
        if result is None or not is_complete or result.get("problem"):
            continue
        by_test = detected[group.key] = {}
        for row, number, _ in result.get("kills") or ():
            by_test.setdefault(row.partition("[")[0], set()).add(number)
    return detected


def _read(place: ToolTree, key: str) -> tuple[bytes, str]:
    """Return the content of a function's file, which is empty if it cannot be read, and its qualname."""
    path, qualname = split_node_key(key)
    try:
        return place.read(unescape_path(path)), qualname
    except HostError:
        return b"", qualname


def _faults(place: ToolTree, key: str, most: int = MAX_MUTANTS) -> list[str]:
    return [mutant.function for mutant in mutants(*_read(place, key), most)]


def _group(place: ToolTree, key: str, faults: Sequence[str], ids: Sequence[str]) -> _Group | None:
    path, qualname = split_node_key(key)
    path = unescape_path(path)
    if not faults:
        return None
    order = fault_order(place, path, place.read(path), qualname, ids, faults)
    return None if order is None else _Group(key, faults, {**order, "each": True})


def _note(
    group: _Group,
    result: Mapping[str, Any] | None,
    planted: Mapping[str, Planted],
) -> None:
    """Add what the faults of a function show to what is known of its tests."""
    if result is None:
        for name in group.order["ids"]:
            planted[name].late = True
    if result is None or result.get("problem") or not result.get("swapped"):
        return
    reaching = {name.partition("[")[0] for name in result.get("reaching") or ()}
    for name in reaching & planted.keys():
        planted[name].tried += result.get("tried") or 0
        planted[name].functions.append(display_name(group.key).rpartition(":")[2])
    failing = dict[str, set[int]]()
    for row, number, how in result.get("kills") or ():
        name = row.partition("[")[0]
        if name in reaching & planted.keys() and 0 <= number < len(group.faults):
            failing.setdefault(name, set()).add(number)
            planted[name].asserted |= how == "asserted"
            planted[name].raised |= how == "raised"
    for name in reaching & planted.keys():
        is_whole = (result.get("tried") or 0) == len(group.faults)
        planted[name].late |= not (is_whole or planted[name].asserted)
        planted[name].passed += (result.get("tried") or 0) - len(failing.get(name, ()))
