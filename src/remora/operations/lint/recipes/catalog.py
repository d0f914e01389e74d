"""All recipes, by rule."""

from collections.abc import Mapping

from remora.operations.lint.recipes.base import Recipe
from remora.operations.lint.recipes.class_variables import CLASS_VARIABLES
from remora.operations.lint.recipes.docstring_text import IMPERATIVE, PERIOD, SUMMARY_LINE
from remora.operations.lint.recipes.exceptions import CHAINED
from remora.operations.lint.recipes.long_lines import LONG_LINES

_ALL = (LONG_LINES, SUMMARY_LINE, IMPERATIVE, PERIOD, CLASS_VARIABLES, CHAINED)
RECIPES: Mapping[str, Recipe] = {code: recipe for recipe in _ALL for code in recipe.codes}


def recipes_for(*, unsafe: bool) -> Mapping[str, Recipe]:
    """Return the recipes, without the unsafe ones unless `unsafe` is true."""
    return {code: recipe for code, recipe in RECIPES.items() if unsafe or not recipe.unsafe}
