"""The shop's own tests: they pass before and after. Nobody wrote some for returns."""

from datetime import date

import pytest

from shop.catalog import Article, Catalog, load_catalog
from shop.customers import Customer, parse_customer
from shop.orders import Order, cancel, place
from shop.pricing import line_price, shipping, tax_included
from shop.report import as_csv, best_sellers, countries, summary, turnover
from shop.stock import OutOfStock, Stock

TODAY = date(2026, 3, 2)


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog()
    catalog.add(Article("cup", "Blue cup", 1250, ["Kitchen"], 300))
    catalog.add(Article("pot", "Blue tea pot", 4800, None, 1200))
    return catalog


@pytest.fixture
def order() -> Order:
    return Order(Customer("Ada Lovelace", "ada@example.com"), {"cup": 2})


def test_the_best_tag_discounts(catalog):
    cup = catalog.articles["cup"]
    assert cup.label() == "Blue cup: 12.50 EUR"
    assert line_price(cup, 2, {"kitchen": 10, "garden": 50}) == 2250
    assert line_price(cup, 2, 5) == 2375


def test_search_needs_every_word_and_sorts_by_price(catalog):
    assert [a.sku for a in catalog.find("blue")] == ["cup", "pot"]
    assert [a.sku for a in catalog.find("TEA blue", limit=1)] == ["pot"]
    assert catalog.find("red") is None


def test_a_number_is_used_once(catalog):
    with pytest.raises(ValueError, match="already"):
        catalog.add(Article("cup", "Other", 1))


def test_shipping_is_free_from_fifty_euros_at_home():
    assert shipping(5000, 1000) == 0
    assert shipping(5000, 1000, "AT") == 1180
    assert shipping(100, 25000) == 1900


def test_tax():
    assert tax_included(1190, "DE") == (1000, 190)
    with pytest.raises(ValueError, match="XX"):
        tax_included(100, "XX")


def test_an_order_takes_stock_or_nothing(order):
    stock = Stock({"cup": 2, "pot": 9})
    assert place(order, stock, TODAY) == []
    assert stock.low() == ["cup"]
    again = Order(order.customer, {"pot": 1, "cup": 1})
    assert place(again, stock, TODAY) == ["cup"]
    stock.take("pot", 9)
    cancel(order, stock)
    stock.take("cup", 2)
    with pytest.raises(OutOfStock):
        stock.take("none", 1)


def test_the_day_in_figures(order, catalog):
    assert turnover([order], catalog) == 3090
    assert best_sellers([order]) == ["cup"]
    assert countries([order]) == ["DE"]
    assert as_csv([order], catalog).startswith("Ada Lovelace,DE,3090,")
    order.ordered = date(2026, 1, 1)
    assert "overdue: Ada Lovelace" in summary([order], catalog, TODAY)


def test_a_customer_of_the_old_export():
    customer = parse_customer("Grace Hopper; grace@example.com;AT")
    assert customer.country == "AT"
    assert customer.greeting() == "Hello Grace,"


def test_a_catalog_comes_from_json(tmp_path):
    path = tmp_path / "catalog.json"
    path.write_text('[{"sku": "cup", "title": "Blue cup", "price": 1250}]')
    assert [article.title for article in load_catalog(str(path))] == ["Blue cup"]
    path.write_text('[{"number": "cup"}]')
    with pytest.raises(ValueError, match="field"):
        load_catalog(str(path))
