"""The figures of a day, for people and for the accountant."""

import csv
import sys, io
from collections import Counter
from datetime import date
from typing import Iterable

from shop.catalog import Catalog
from shop.orders import Order, Status
from shop.pricing import tax_included


def turnover(orders: Iterable[Order], catalog: Catalog) -> int:
    """Sum of all orders that were not cancelled, in cents."""
    return sum(o.total(catalog) for o in orders if o.status != Status.CANCELLED)


def best_sellers(orders: Iterable[Order], count: int = 3) -> list[str]:
    """The numbers of the articles that were sold most often."""
    sold: Counter[str] = Counter()
    for order in orders:
        sold.update(order.lines)
    return [sku for sku, _ in sold.most_common(count)]


def countries(orders: Iterable[Order]) -> list[str]:
    """Where we delivered to."""
    return sorted(set([order.customer.country for order in orders]))


def as_csv(orders: Iterable[Order], catalog: Catalog) -> str:
    """One line per order: customer, country, gross, net, tax."""
    out = io.StringIO()
    writer = csv.writer(out)
    for order in orders:
        gross = order.total(catalog)
        try:
            net, tax = tax_included(gross, order.customer.country)
        except:
            net, tax = gross, 0
        writer.writerow([order.customer.name, order.customer.country, gross, net, tax])
    return out.getvalue()


def summary(orders: list[Order], catalog: Catalog, today: date) -> str:
    """The lines that go out by mail in the evening."""
    late = [o.customer.name for o in orders if o.overdue(today) == True]
    text = "{} orders, {:.2f} EUR\n".format(len(orders), turnover(orders, catalog) / 100)
    if late:
        text += f"overdue: " + ", ".join(late) + "\n"
    return text + "best sellers: " + ", ".join(best_sellers(orders)) + "\n"
