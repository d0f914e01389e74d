"""Search for known secret values, which may overlap."""

import re
from collections.abc import Iterator, Mapping

from remora.trace.redact.found_spans import Finding
from remora.trace.redact.rule import Matcher, Span, compile_pattern

_MAX_OVERLAPS = 4
_RUN = re.compile(rb"[^\s\"'`<>]{0,256}")


class KnownValues:
    """Known secret values and the names of their rules."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        encoded: dict[bytes, str] = {}
        for secret, rule in secrets.items():
            encoded.setdefault(secret.encode("utf-8", "surrogatepass"), rule)
            # the original bytes of a variable that is not UTF-8
            encoded.setdefault(secret.encode("utf-8", "surrogateescape"), rule)
        self._rules = encoded
        self.pattern = "|".join("".join(f"\\x{byte:02x}" for byte in value) for value in encoded)
        self._matcher: Matcher | None = None
        if encoded:
            self._matcher = compile_pattern(self.pattern, longest=True)

    def found(self, data: bytes) -> Iterator[Finding]:
        """Yield all occurrences from left to right.

        If several values start at the same offset, only the longest is used. If two values overlap,
        the finding is extended to the next blank or quote, so that no part of a secret remains.
        """
        match = self._search(data, 0)
        while match is not None:
            start, end = match
            rule = self._rules[data[start:end]]
            match, looks = self._search(data, start + 1), 0
            while match is not None and match.start < end:
                looks += 1
                if match.end > end or looks == _MAX_OVERLAPS:
                    run = _RUN.match(data, max(end, match.end))
                    end = run.end() if run else end
                    match = self._search(data, end)
                else:
                    match = self._search(data, match.start + 1)
            yield Finding(start, end, rule)

    def _search(self, data: bytes, at: int) -> Span | None:
        match = self._matcher.search(data, at) if self._matcher else None
        return Span(*match.span()) if match else None
