"""Properties of the embedded model, and a check that its engine is installed."""

import importlib.util

from remora.errors import ModelError, install_extra
from remora.models.protocol import Capabilities

CONTEXT = 4096
"""Maximum tokens of a request and its answer.

The model was trained with up to 8192, but memory for all of them is allocated at the start.
"""
CAPABILITIES = Capabilities(grammar=True, completions=True, tokenize=True)


def require_engine() -> None:
    """Raise ModelError if the package that runs the embedded model is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError(
            "the embedded model requires the xllamacpp package, which is not installed",
            hint=f"set model.base_url to a server, or {install_extra('embedded')}",
        )
