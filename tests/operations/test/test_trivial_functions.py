"""Functions of which a test says little."""

import pytest

from remora.operations.test.target_function import TargetFunction, find_target
from remora.operations.test.trivial_functions import CONSTANT, DELEGATES, SHARED, why_trivial

SOURCE = b"""
import json

CODES = {1: "one", 2: "two"}
_known = {}
_sleep = 0.001

def helper(text): return text.strip() + "!"
def register(name): _known[name] = 1
def _add_plural(one, many): _plurals[one] = many
def _add_often(name): _often[name] = 1
def again(name): _add_often(name)
_often = {}
_plurals = {}
_add_plural("man", "men")
_add_often("a")
def set_sleep(seconds):
    global _sleep
    _sleep = seconds * 2

def minus_one(data): return -1
def passes_on(text): return helper(text)
def changes(text): return helper(text + "?")
def name_of(code): return CODES[code].upper()
def is_known(name): return name.lower() in _known
def plural_of(name): return _plurals.get(name, name + "s")
def is_often(name): return name.lower() in _often
def nap(times): return _sleep * times
def parse(text): return json.loads(text)
def strict(text): return json.loads(text, strict=False)

class Counters:
    data = {n: 0 for n in range(9)}
    table = {"a": 1}

    def __init__(self): self.seen = []
    def item(self, name):
        if name in self.seen: return self.seen[name]
        else: raise KeyError(name)
    def get_seen(self): return self.seen
    def set_seen(self, seen):
        '''Set.'''
        self.seen = seen
        return self
    def set_size(self, size):
        if isinstance(size, int): self.size = size
        else: raise TypeError(size)
        return self
    def is_open(self): return self.seen is not None
    def total(self): return sum(self.data.values())
    def value(self, key): return self.table[key] * 2
    def add(self, one): self.seen.append(one)
"""


def subject(name: str) -> TargetFunction:
    found = find_target("counters.py", SOURCE, name, lambda _: False)
    assert isinstance(found, TargetFunction)
    return found


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("minus_one", CONSTANT),
        ("passes_on", DELEGATES),
        ("parse", DELEGATES),
        ("is_known", SHARED),
        ("nap", SHARED),
        ("plural_of", ""),  # only filled when the module is imported
        ("is_often", SHARED),
        ("Counters.get_seen", CONSTANT),
        ("Counters.item", CONSTANT),
        ("Counters.set_seen", CONSTANT),
        ("Counters.set_size", CONSTANT),
        ("Counters.is_open", CONSTANT),
        ("Counters.total", SHARED),
        ("Counters.add", DELEGATES),
        ("changes", ""),
        ("name_of", ""),
        ("strict", ""),
        ("Counters.value", ""),
    ],
)
def test_trivial_functions(name: str, reason: str) -> None:
    assert why_trivial(subject(name)) == reason
