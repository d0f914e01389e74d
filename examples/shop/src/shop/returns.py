"""Parcels that come back: how long they may, and how much of the price is paid back."""

from typing import Dict, Optional

PERIOD = 14
KEPT: Dict[str, int] = {"new": 0, "opened": 10, "worn": 40}


def days_left(age: int, holidays: Optional[int] = None) -> int:
    """How many days a customer still has to send a parcel back."""
    period = PERIOD
    if holidays != None:
        period += holidays
    if age >= period:
        return 0
    else:
        return period - age


def parcel_number(text: str) -> str:
    number = "".join([c for c in text if c.isalnum()]).upper()
    if len(number) < 8:
        raise ValueError(f"a parcel number has eight letters or digits")
    return "{}-{}".format(number[:4], number[4:])


def can_come_back(age: int, is_member: bool = False) -> bool:
    if is_member:
        return True
    else:
        return age < PERIOD


def refund(price: int, condition: str, postage: int = 0) -> int:
    """What a customer gets back, in cents.

    >>> refund(2000, "opened")
    1800
    >>> refund(2000, "worn", postage=1500)
    0

    Args:
        price: What was paid for the article, in cents.
        article_condition: How the article looks.
        postage: What the label cost, in cents.
    """
    if condition not in KEPT.keys():
        raise ValueError(f"no such condition: {condition}")
    return max(price - price * KEPT[condition] // 100 - postage, 0)
