"""What a call changes in the objects that exist before it."""

from __future__ import annotations

import ast
import contextlib
import copy
import itertools
from collections.abc import Set as AbstractSet
from typing import Any, Dict, Iterator, List, Tuple

from .described import Claim, Described, describe, is_from, state_of

_HOLLOW = ("None", "''", "[]", "{}", "()", "['']", "[None]")
_MOST_CLAIMS = 3
_BESIDE_RESULT = 2
"""Numbers of claims about changes, alone and beside claims about the result."""
_MOST_KEYS = 4
_LONGEST_KEY = 40
_LONGEST_LIST = 80
_MOST_ITEMS = 40
State = Dict[str, Described]


class Watched:
    """Objects and their state before a call. The state includes the items that the call names.

    The state is read from copies, since a cache may count who reads it. Items of objects that
    cannot be copied are not read. `root` is the project's folder.
    """

    def __init__(self, objects: Dict[str, Any], call: str, root: str) -> None:
        self.objects = objects
        self._keys = list(_literals(call))[:_MOST_KEYS]
        self._root = root
        self._copies = {name: _copied(one) for name, one in objects.items()}
        self._before = {
            name: state_of(one) for name, one in objects.items() if self._copies[name] is None
        }

    def claims(self, *, has_result: bool) -> Tuple[List[Claim], List[str]]:
        """Return claims about what has changed since, and their imports."""
        found: List[Claim] = []
        imports: Dict[str, None] = {}
        for name, one in self.objects.items():
            for left, now in _changes(*self._states(name, one)).items():
                found.append((left.replace("{}", name), now.text))
                imports.update(now.imports)
        return found[: _BESIDE_RESULT if has_result else _MOST_CLAIMS], list(imports)

    def _states(self, name: str, value: Any) -> Tuple[State, State]:
        """Return the state of an object before the call and now."""
        if name in self._before:
            return self._before[name], state_of(value)
        return self._state(self._copies[name]), self._state(value)

    def _state(self, value: Any) -> State:
        found = state_of(value)
        if "{}" in found:
            return found
        with contextlib.suppress(Exception):
            found.update(_members(value, self._keys))
            found.update(_listed(value, self._root))
        return found


def _copied(value: Any) -> Any:
    """Return a copy of an object, or None if it cannot be copied."""
    with contextlib.suppress(Exception):
        made = copy.deepcopy(value)
        return None if made is value else made
    return None


def _literals(call: str) -> Iterator[Tuple[str, Any]]:
    """Yield the arguments of a call that are literals, as source code and as values.

    Claims cannot contain literals with `{}`, which is their sign for the object.
    """
    node = ast.parse(call, mode="eval").body
    for each in node.args if isinstance(node, ast.Call) else ():
        if isinstance(each, ast.Constant):
            text = ast.get_source_segment(call, each) or ""
            if 0 < len(text) <= _LONGEST_KEY and "{}" not in repr(each.value):
                yield repr(each.value), each.value


def _members(value: Any, keys: List[Tuple[str, Any]]) -> State:
    """Return which of the keys an object contains, or its items for them."""
    kind = type(value)
    found: State = {}
    if not hasattr(kind, "__contains__"):
        return found
    for text, key in keys:
        is_member = key in value
        item = describe(value[key]) if is_member and hasattr(kind, "keys") else None
        if item is not None:
            found["{}[" + text + "]"] = item
        else:
            found[text + " in {}"] = Described(str(is_member), {})
    return found


def _listed(value: Any, root: str) -> State:
    """Return the items of a collection of the project that no literal is equal to."""
    kind = type(value)
    if not (hasattr(kind, "__len__") and hasattr(kind, "__iter__") and is_from(kind, root)):
        return {}
    is_set = isinstance(value, AbstractSet)
    first = itertools.islice(value, _MOST_ITEMS + 1)
    items = describe(set(first) if is_set else list(first))
    if items is None or len(items.text) > _LONGEST_LIST:
        return {}
    return {"set({})" if is_set else "list({})": items}


def _changes(before: State, now: State) -> State:
    """Return the changed text of an object, its members, its items, or else its attributes.

    Attributes without content are left out if others have some.
    """
    found = {
        left: each
        for left, each in now.items()
        if left not in before or before[left].text != each.text
    }
    for chosen in (("str({})",), ("list({})", "set({})"), _of_members(found)):
        telling = {left: each for left, each in found.items() if left in chosen}
        if telling:
            return telling
    return {left: each for left, each in found.items() if each.text not in _HOLLOW} or found


def _of_members(found: State) -> Tuple[str, ...]:
    return tuple(left for left in found if left.endswith(" in {}") or left.startswith("{}["))
