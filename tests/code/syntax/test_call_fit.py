"""A call fits the parameters of a function, or the text says why not."""

import ast

import pytest

from remora.code.syntax.signature import has_own_parameters, misfit


def function(text: str) -> ast.FunctionDef:
    found = ast.parse(f"{text}\n    pass\n").body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def call(text: str) -> ast.Call:
    found = ast.parse(text, mode="eval").body
    assert isinstance(found, ast.Call)
    return found


@pytest.mark.parametrize(
    ("header", "text", "why"),
    [
        ("def f(a, b=1):", "f(1)", ""),
        ("def f(a, b=1):", "f()", "missing a required argument: 'a'"),
        ("def f(a, b=1):", "f(1, 2, 3)", "too many positional arguments"),
        ("def f(a, *, b):", "f(1, 2)", "too many positional arguments"),
        ("def f(a, *, b):", "f(1, c=2)", "missing a required"),
        ("def f(a, /):", "f(a=1)", "positional"),
        ("def f(a, **rest):", "f(1, c=2)", ""),
        ("def f(*rest):", "f(1, 2, 3)", ""),
        ("def f(a):", "f(*values)", ""),
        ("def f(a):", "f(**values)", ""),
        ("def f(a):", "f(1, b=2)", "got an unexpected keyword argument 'b'"),
    ],
)
def test_a_call_of_a_function(header: str, text: str, why: str) -> None:
    said = misfit(function(header), call(text), in_class=False)
    assert why in said
    assert bool(said) is bool(why)


def test_the_first_parameter_of_a_method_is_the_object() -> None:
    method = function("def total(self, tax):")
    assert misfit(method, call("cart.total(2)"), in_class=True) == ""
    assert misfit(method, call("cart.total()"), in_class=True).startswith("missing")
    assert misfit(method, call("Cart([x.Cart]).total(2)"), in_class=True) == ""
    assert misfit(method, call("_Cart.total(cart, 2)"), in_class=True) == ""
    assert misfit(method, call("shop.Cart.total(cart)"), in_class=True).startswith("missing")
    static = function("@staticmethod\ndef total(prices):")
    assert misfit(static, call("cart.total([])"), in_class=True) == ""


@pytest.mark.parametrize(
    ("decorator", "is_own"),
    [("staticmethod", True), ("functools.lru_cache(1)", True), ("click.command()", False)],
)
def test_decorators_that_may_change_the_parameters(decorator: str, is_own: bool) -> None:
    assert has_own_parameters(function(f"@{decorator}\ndef f(a):")) is is_own
