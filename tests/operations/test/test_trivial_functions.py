"""Functions of which a test says little."""

import pytest

from remora.operations.test.target_function import TargetFunction, find_target
from remora.operations.test.trivial_functions import CONSTANT, WRAPS, why_trivial

SOURCE = b"""
import json

CODES = {1: "one", 2: "two"}

def helper(text): return text.strip() + "!"
def minus_one(data): return -1
def passes_on(text): return helper(text)
def changes(text): return helper(text + "?")
def name_of(code): return CODES[code].upper()
def parse(text): return json.loads(text)
def strict(text): return json.loads(text, strict=False)

class Counters:
    table = {"a": 1}

    def __init__(self): self.seen = []
    def get_seen(self): return self.seen
    def set_seen(self, seen):
        '''Set.'''
        self.seen = seen
        return self
    def is_open(self): return self.seen is not None
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
        ("passes_on", WRAPS),
        ("parse", WRAPS),
        ("Counters.get_seen", CONSTANT),
        ("Counters.set_seen", CONSTANT),
        ("Counters.is_open", CONSTANT),
        ("Counters.add", WRAPS),
        ("changes", ""),
        ("name_of", ""),
        ("strict", ""),
        ("Counters.value", ""),
    ],
)
def test_trivial_functions(name: str, reason: str) -> None:
    assert why_trivial(subject(name)) == reason
