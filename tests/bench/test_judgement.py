"""The benchmark of judgement: which labels it reads, what it plants, and how sure it is."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from judgement_docstrings import TEXT_FRAMING, prompts, prose_of, renamed, word_question
from judgement_packages import Function
from judgement_planting import opposite_sites
from judgement_question import neutral_names, renamed_code
from judgement_raises import Site, sites_of
from judgement_statistics import (
    credit,
    false_alarms,
    fitted_weights,
    paired_bootstrap,
    weighted,
)

from remora.operations.docstring.documented_node import find_documented
from remora.operations.docstring.summary.summary_place import summary_place

REPORTS = Path(__file__).parents[2] / "docs" / "evals"
FIRST = Function(
    package="shop",
    name="first_item",
    qualname="shop.py:1:first_item",
    head="def first_item(items):",
    body="    return items[0]",
    docstring="Return the first item of the items.",
)


def test_the_product_scores_summaries_at_the_measured_place() -> None:
    source = (
        "class Shop:\n    @cached\n    def first(\n        self, items\n    ) -> str:\n\n"
        "        # the newest\n        return items[0]\n\n    x = 1\n"
    )
    place = summary_place(find_documented("a.py", source.encode(), "Shop.first"))
    head = "@cached\ndef first(\n    self, items\n) -> str:"
    body = "    # the newest\n    return items[0]"
    measured = replace(FIRST, head=head, body=body)
    assert place is not None
    assert (place["before"], place["empty"]) == prompts(measured, TEXT_FRAMING)


def test_the_products_weights_are_the_fitted_ones() -> None:
    report = json.loads((REPORTS / "judgement.json").read_text())
    place = summary_place(find_documented("a.py", b"def f():\n    return 1\n", "f"))
    assert place is not None
    fitted = {name: weight / 10 for name, weight in report["docstring-text"]["weights"].items()}
    assert {"given": place["given"], "alone": place["alone"]} == pytest.approx(fitted)


def test_the_readme_has_the_measured_figures() -> None:
    report = json.loads((REPORTS / "judgement.json").read_text())["docstring-text"]
    accuracy, best = (report["seeds"]["1"][key] for key in ("accuracy", "best_baseline"))
    readme = " ".join((REPORTS.parents[1] / "README.md").read_text().split())
    right, free = (f"{accuracy[arm] * 100:.0f} %" for arm in ("likelihood", best))
    assert f"it is right in {right} of cases, the best free rule in {free}" in readme


def sites(text: str) -> list[Site]:
    return list(sites_of("shop", "shop.py", text, ast.parse(text)))


def test_labels_are_explicit_causes_in_handlers() -> None:
    found = sites(
        "def f(key):\n"
        "    try:\n"
        "        return D[key]\n"
        "    except KeyError as error:\n"
        "        raise ValueError(key) from error\n"
        "    except TypeError:\n"
        "        raise ValueError from None\n"
        "    except OSError:\n"
        "        raise ValueError\n"
    )
    assert [(site.line, site.is_chained) for site in found] == [(5, True), (7, False)]


def test_the_name_of_an_exception_does_not_tell_the_label() -> None:
    text = "def f(key):\n    try:\n        g()\n    except KeyError{}:\n        raise ValueError(1) from {}"
    (chained,) = sites(text.format(" as error", "error"))
    (cut,) = sites(text.format("", "None"))
    assert chained.code == cut.code
    assert chained.code["handler"] == "except KeyError as e:\n    raise ValueError(1)"


def test_a_name_that_the_handler_uses_remains() -> None:
    (site,) = sites(
        "def f():\n"
        "    try:\n"
        "        g()\n"
        "    except OSError as error:\n"
        "        raise ValueError(str(error)) from None\n"
    )
    assert site.caught == "error"
    assert "as error" in site.code["handler"]


@pytest.mark.parametrize(
    ("text", "planted"),
    [
        ("Return True if the name is known.", ["Raise", "False", "unless", "unknown", "is not"]),
        ("The list must not be sorted.", ["unsorted", "must"]),
        ("It cannot be opened before that.", ["closed", "after", "can"]),
        ("Use `first` or first() or first.name here.", []),
        ("Too first.", []),
    ],
)
def test_planted_words(text: str, planted: list[str]) -> None:
    assert [site.opposite for site in opposite_sites(text)] == planted


def test_a_question_has_the_text_before_the_word_and_some_words_after_it() -> None:
    text = prose_of(FIRST.docstring)
    site = next(each for each in opposite_sites(text) if each.word == "first")
    asked = word_question(FIRST, text, site, framing="place", single=True)
    assert asked.context == 'def first_item(items):\n    """Return the'
    assert set(asked.options) == {" first item of the", " last item of the"}
    assert asked.options[asked.right] == " first item of the"


def test_options_begin_where_they_differ() -> None:
    text = "The list must not be sorted."
    site = next(each for each in opposite_sites(text) if each.is_negation)
    asked = word_question(FIRST, text, site, framing="place", single=True)
    assert asked.context.endswith('"""The list must')
    assert set(asked.options) == {" not be sorted.", " be sorted."}


def test_prose_ends_before_the_first_section() -> None:
    assert prose_of("Open it.\n\nArgs:\n    path: the first.") == "Open it."
    assert prose_of("Open\nit.\n\n:param path: the first") == "Open it."


def test_identifiers_are_renamed_consistently() -> None:
    code = 'def f(items, *, n=1):\n    return len(items) + helper(n, "items")'
    names = neutral_names(code)
    assert renamed_code(code, names) == ('def f1(a2, *, a3=1):\n    return len(a2) + a4(a3, "a2")')


def test_texts_name_the_renamed_identifiers_but_the_compared_words_remain() -> None:
    text = prose_of("Return the first of the items.")
    site = next(each for each in opposite_sites(text) if each.word == "first")
    asked = renamed(word_question(FIRST, text, site, framing="attribute", single=True))
    assert asked.context.endswith('f1.__doc__ = """Return the')
    assert set(asked.options) == {" first of the a2.", " last of the a2."}


def test_fitted_weights_find_what_tells_the_options_apart() -> None:
    asked = [(({"good": 1.0, "noise": n % 2}, {"noise": 1.0}), 0) for n in range(40)]
    weights = fitted_weights(asked)
    assert all(credit(weighted(options, weights), right) for options, right in asked)


def test_a_tie_is_a_share_of_a_right_answer() -> None:
    assert [credit([1.0, 1.0], 0), credit([2.0, 1.0], 0), credit([1.0, 2.0], 0)] == [0.5, 1.0, 0.0]


def test_the_interval_is_wide_if_one_package_makes_the_difference() -> None:
    packages = ["a"] * 50 + ["b", "c", "d"]
    better = [1.0] * 50 + [0.0] * 3
    found = paired_bootstrap(packages, better, [0.0] * 50 + [1.0] * 3, seed=1, resamples=500)
    assert found.difference == pytest.approx(47 / 53)
    assert found.lower == -1.0
    even = paired_bootstrap(["a", "b"] * 20, [1.0] * 40, [0.5] * 40, seed=1, resamples=500)
    assert (even.lower, even.upper) == (0.5, 0.5)


def test_false_alarms_are_true_texts_whose_variant_scores_as_much_higher() -> None:
    gains = [4.0, 3.0, 2.0, 1.0, -3.5]
    assert false_alarms(gains, 0.4) == 0.2
    assert false_alarms(gains, 0.2) == 0.0
