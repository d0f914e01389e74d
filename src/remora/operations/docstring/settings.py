"""Settings of the docstring operation."""

from typing import Literal

from remora.config.schema import OperationConfig


class DocstringConfig(OperationConfig):
    """Keys of `operations.docstring`."""

    style: Literal["google", "numpy", "rest"] | None = None
    """Docstring style, google, numpy or rest; null: the project's own style."""
