"""Tokens per byte of the models of servers, kept between runs in the user's cache."""

from contextlib import suppress
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.models.token_counters import SPARSEST, TokenRatio
from remora.regular_file import replace_file

_FILE = "token_ratios.json"


class TokenRatios:
    """The kept ratio of one model of one server. A file that cannot be used is ignored."""

    def __init__(self, cache: Path, server: str) -> None:
        self._file = cache / _FILE
        self._server = server

    def read(self) -> TokenRatio | None:
        """Return the ratio, or None if the server has not answered yet."""
        ratio = self._all().get(self._server)
        return ratio if ratio is not None and SPARSEST <= ratio.low <= ratio.high else None

    def write(self, ratio: TokenRatio) -> None:
        """Keep the ratio. Of two processes that write at the same time, one may be forgotten."""
        content = msgspec.json.encode({**self._all(), self._server: ratio})
        with suppress(OSError):
            make_private(self._file.parent)
            replace_file(self._file, content)

    def _all(self) -> dict[str, TokenRatio]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, TokenRatio])
        except (OSError, msgspec.DecodeError):
            return {}
