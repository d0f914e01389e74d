"""Settings of the docstring operation."""

from typing import Literal

from remora.config.schema import OperationConfig


class DocstringConfig(OperationConfig):
    """Settings under `operations.docstring`."""

    style: Literal["google", "numpy", "rest"] | None = None
    """Docstring style: google, numpy or rest. If null, the project's existing style is used."""
