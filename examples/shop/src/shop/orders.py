"""Orders: what was bought, by whom, and what became of it."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum

from shop.catalog import Article, Catalog
from shop.customers import Customer, is_valid_email
from shop.pricing import line_price, shipping
from shop.stock import OutOfStock, Stock


class Status(Enum):
    """Where an order stands."""

    OPEN = "open"
    PAID = "paid"
    SENT = "sent"
    CANCELLED = "cancelled"


@dataclass
class Order:
    """One order of one customer."""

    customer: Customer
    lines: dict[str, int] = field(default_factory=dict)
    status: Status = Status.OPEN
    ordered: date | None = None

    def total(self, catalog: Catalog) -> int:
        """What the customer pays, in cents, shipping included."""
        goods = 0
        weight = 0
        for sku, quantity in self.lines.items():
            article = catalog.articles[sku]
            goods += line_price(article, quantity, self.customer.discount)
            weight += article.weight_grams * quantity
        total = goods + shipping(goods, weight, self.customer.country)
        return total

    def overdue(self, today: date, days: int = 14) -> bool:
        """Whether an unpaid order is older than it should be."""
        if self.ordered is None:
            return False
        elif self.status != Status.OPEN:
            return False
        return today - self.ordered > timedelta(days=days)


def place(order: Order, stock: Stock, today: date) -> list[str]:
    """Take an order's articles out of stock; answers what is missing, then nothing was taken."""
    if not is_valid_email(order.customer.email):
        raise ValueError(f"the customer has no valid e-mail address")
    taken = []
    missing = []
    for sku, quantity in order.lines.items():
        try:
            stock.take(sku, quantity)
            taken.append((sku, quantity))
        except OutOfStock as error:
            missing.append(sku)
    if missing:
        stock.put_back(taken, ["order was not complete"])
        return missing
    order.ordered = today
    return []


def cancel(order: Order, stock: Stock) -> None:
    """Cancel an order that was not sent."""
    if order.status is Status.SENT:
        raise ValueError("an order that was sent is returned, not cancelled")
    stock.put_back(list(order.lines.items()), ["cancelled"])
    order.status = Status.CANCELLED
