"""Settings of the lint operation."""

from typing import Annotated

from pydantic import AfterValidator

from remora.config.schema import OperationConfig


def _selectors(texts: list[str]) -> list[str]:
    from remora.tools.host.ruff.rule_choice import selectors_in  # slow to import

    return selectors_in(texts)


class LintConfig(OperationConfig):
    """Settings under `operations.lint`."""

    select: Annotated[list[str], AfterValidator(_selectors)] | None = None
    """Ruff rules to check, such as [F, UP], [ALL] or [default]. If null, the project selects them."""
