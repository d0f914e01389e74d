"""What an order costs: discounts, shipping, tax."""

from decimal import ROUND_HALF_UP, Decimal

from shop.catalog import Article

TAX = {"DE": Decimal("0.19"), "AT": Decimal("0.20"), "CH": Decimal("0.081")}
FREE_SHIPPING_FROM = 5000


def round_cents(amount: Decimal) -> int:
    """A whole number of cents; halves are rounded up, as the tax office wants it."""
    return int(amount.quantize(Decimal("1"), rounding=ROUND_HALF_UP))


def line_price(article: Article, quantity: int, discount: int | dict[str, int] = 0) -> int:
    """Price of some pieces of an article, in cents.

    A discount is a number of percent, or percent by tag; the best tag counts.
    """
    if isinstance(discount, int):
        percent = discount
    else:
        percent = max([p for tag, p in discount.items() if article.has_tag(tag)], default=0)
    l = article.price * quantity * Decimal(100 - percent) / 100
    return round_cents(l)


def shipping(total: int, weight_grams: int, country: str = "DE") -> int:
    """Shipping in cents; nothing from 50 EUR within the country."""
    if country == "DE":
        if total >= FREE_SHIPPING_FROM:
            return 0
    base = 1900 if weight_grams > 20000 else 590
    return base if country == "DE" else base * 2


def tax_included(total: int, country: str) -> tuple[int, int]:
    """Net amount and tax of a gross amount."""
    try:
        rate = TAX[country]
    except KeyError as error:
        raise ValueError(f"no tax rate for {country}")
    net = round_cents(Decimal(total) / (1 + rate))
    return net, total - net
