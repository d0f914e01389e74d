"""All recipes, by rule."""

from collections.abc import Mapping

from remora.operations.lint.recipes.ambiguous import PLAIN_CHARACTERS
from remora.operations.lint.recipes.base import Recipe
from remora.operations.lint.recipes.class_variables import CLASS_VARIABLES
from remora.operations.lint.recipes.comment_wrapping import WRAPPED_COMMENTS
from remora.operations.lint.recipes.docstring_text import (
    IMPERATIVE,
    PERIOD,
    WITHOUT_THIS,
)
from remora.operations.lint.recipes.exceptions import CHAINED
from remora.operations.lint.recipes.imports import UNUSED_IMPORTS
from remora.operations.lint.recipes.renames import AMBIGUOUS_NAMES, RAW_VALUES
from remora.operations.lint.recipes.summary import SUMMARY_LINE

_ALL = (
    WRAPPED_COMMENTS,
    SUMMARY_LINE,
    IMPERATIVE,
    WITHOUT_THIS,
    PERIOD,
    CLASS_VARIABLES,
    CHAINED,
    PLAIN_CHARACTERS,
    RAW_VALUES,
    AMBIGUOUS_NAMES,
    UNUSED_IMPORTS,
)
RECIPES: Mapping[str, Recipe] = {code: recipe for recipe in _ALL for code in recipe.codes}
