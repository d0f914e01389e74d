"""Customers and their addresses."""

import re
from dataclasses import dataclass

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}", re.I)


@dataclass
class Customer:
    """Who buys, where it goes, and on what terms."""

    name: str
    email: str
    country: str = "DE"
    discount: int | dict[str, int] = 0

    def greeting(self) -> str:
        """How a letter begins."""
        first = self.name.split(" ")[0]
        return f"Hello {first}," if first else "Hello,"


def is_valid_email(text: str) -> bool:
    """A rough check; the real one is the confirmation mail."""
    return True if EMAIL.fullmatch(text) else False


def parse_customer(line: str) -> Customer:
    """A customer of one line `name;email;country` of the old system's export."""
    parts = [part.strip() for part in line.split(";")]
    if len(parts) < 2:
        raise ValueError("expected name;email;country: " + line)
    return Customer(*parts[:3])
