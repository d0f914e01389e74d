"""What generated dialogues consist of: calls, and names, identifiers and texts made at random."""

import random
from typing import Any, NamedTuple

_FIRST = ("Ava", "Liam", "Noah", "Mia", "Omar", "Yuki", "Lena", "Ivan", "Rosa", "Chen", "Raj")
LAST = ("Silva", "Patel", "Novak", "Kim", "Garcia", "Rossi", "Brown", "Ito", "Haddad", "Lopez")
PLACES = ("Denver", "Boston", "Seattle", "Chicago", "Houston", "Miami", "Dallas", "Austin")
AIRPORTS = ("DEN", "BOS", "SEA", "ORD", "IAH", "MIA", "PHX", "DFW", "AUS", "PDX", "JFK", "SFO")
WARES = ("lamp", "speaker", "jacket", "kettle", "keyboard", "bottle", "puzzle", "tent", "vase")
TOPICS = ("budget", "launch", "hiring", "roadmap", "audit", "outage", "survey", "training")
_TEXT = """the a of to in and team client order plan report system value early late several between
process region market result change need week month review large small local shared public quiet
direct final open second general service water house project detail"""
WORDS = tuple(_TEXT.split())


class Call(NamedTuple):
    """One call and its result."""

    tool: str
    args: dict[str, Any]
    result: Any


class Dialogue(NamedTuple):
    """A user's request and the calls that answer it."""

    family: str
    goal: str
    calls: list[Call]


class World(random.Random):
    """Makes names, identifiers and texts."""

    def code(self, length: int = 6) -> str:
        return "".join(self.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=length))

    def number(self, digits: int = 10) -> str:
        return str(self.randrange(10 ** (digits - 1), 10**digits))

    def token(self, length: int) -> str:
        return "".join(self.choices("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789_-", k=length))

    def person(self) -> dict[str, str]:
        return {"first_name": self.choice(_FIRST), "last_name": self.choice(LAST)}

    def user(self) -> str:
        return f"{self.choice(_FIRST)}_{self.choice(LAST)}_{self.number(4)}".lower()

    def mail(self) -> str:
        return f"{self.choice(_FIRST)}.{self.choice(LAST)}{self.randrange(99)}@example.com".lower()

    def date(self) -> str:
        return f"2024-{self.randrange(1, 13):02}-{self.randrange(1, 29):02}"

    def time(self) -> str:
        return f"{self.date()}T{self.randrange(24):02}:{self.randrange(0, 60, 5):02}:00"

    def price(self) -> float:
        return self.randrange(1000, 60000) / 100

    def text(self, length: int) -> str:
        words: list[str] = []
        while sum(map(len, words)) + len(words) < length:
            words.append(self.choice(WORDS))
        return " ".join(words).capitalize()[: length - 1] + "."

    def address(self) -> dict[str, str]:
        return {
            "address1": f"{self.randrange(10, 999)} {self.choice(LAST)} Street",
            "address2": f"Suite {self.randrange(100, 999)}",
            "city": self.choice(PLACES),
            "country": "USA",
            "zip": self.number(5),
        }
