"""All recipes, by rule."""

from collections.abc import Mapping

from remora.operations.lint.recipes.ambiguous import PLAIN_CHARACTERS
from remora.operations.lint.recipes.base import Recipe
from remora.operations.lint.recipes.class_variables import CLASS_VARIABLES
from remora.operations.lint.recipes.docstring_text import (
    IMPERATIVE,
    PERIOD,
    WITHOUT_THIS,
)
from remora.operations.lint.recipes.exceptions import CHAINED
from remora.operations.lint.recipes.imports import UNUSED_IMPORTS
from remora.operations.lint.recipes.long_lines import LONG_LINES
from remora.operations.lint.recipes.renames import AMBIGUOUS_NAMES, RAW_VALUES
from remora.operations.lint.recipes.summary import SUMMARY_LINE
from remora.tools.host.ruff.finding import Finding

_ALL = (
    LONG_LINES,
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


_CHANGES_WHEN_CODE_RUNS = {"E402", "PLC0415", "PLW0603", "B006", "B008", "B905"}
_FAMILIES = ("PTH", "PERF", "SIM")


def recipes_for(*, unsafe: bool) -> Mapping[str, Recipe]:
    """Return the recipes, without the unsafe ones unless `unsafe` is true."""
    return {code: recipe for code, recipe in RECIPES.items() if unsafe or not recipe.unsafe}


def may_go_beyond_ruff(code: str, is_selected: bool) -> bool:
    """Return True if a finding may be fixed that ruff does not fix.

    Its rule must be one that the project selects itself, or the fix must only complete other fixes.
    """
    return is_selected or code in UNUSED_IMPORTS.codes


def is_usable_in_preview(finding: Finding) -> bool:
    """Return True if a fix that ruff has only in preview mode may be applied.

    Fixes that move imports or change defaults change when code runs. `--unsafe-fixes` does not
    permit unsafe fixes that ruff itself would not apply, except of these families.
    """
    fix, code = finding["fix"], finding["code"]
    if fix is None or code in _CHANGES_WHEN_CODE_RUNS:
        return False
    return bool(fix["applicability"] == "safe" or code.startswith(_FAMILIES))
