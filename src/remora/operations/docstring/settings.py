"""Settings of the docstring operation."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class DocstringSettings(BaseModel):
    """Keys of `operations.docstring`, beside `max_turns`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    style: Literal["google", "numpy", "rest"] | None = None
    """Docstring style; null uses the style of the project's docstrings."""
