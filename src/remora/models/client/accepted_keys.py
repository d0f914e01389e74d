"""Which keys of requests a server takes: others are renamed or left out, as its refusals ask."""

import re
from typing import Any

from remora.errors import RefusedRequest

_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = (
    *("max_tokens", "temperature", "seed", "stop", "tool_choice", "stream", "stream_options"),
    *("logprobs", "top_logprobs", "cache_prompt", "preserved_tokens", "skip_special_tokens"),
)
_UNNAMED = (("stream_options",), ("logprobs", "top_logprobs"), ("stream", "stream_options"))
"""Keys that servers refuse without naming them."""


class KeyTrial:
    """The attempts to send one request to a server.

    `changes` contains the keys that the server has refused: their other name, or an empty text if
    they are left out. What it accepts of this request is added.
    """

    def __init__(self, changes: dict[str, str], body: dict[str, Any]) -> None:
        self._known = changes
        self._body = body
        self._named = dict(changes)
        self._changes = self._named
        unnamed = [frozenset(keys) for keys in _UNNAMED if keys[0] in self.sent]
        unnamed.append(frozenset[str]().union(*unnamed))
        self._unnamed = list(dict.fromkeys(filter(None, unnamed)))

    @property
    def sent(self) -> dict[str, Any]:
        """The request with the keys of this attempt."""
        names = {key: self._changes.get(key, key) for key in self._body}
        return {names[key]: value for key, value in self._body.items() if names[key]}

    def refuse(self, error: RefusedRequest) -> bool:
        """Choose the keys of the next attempt. Return False if there is none left to try.

        The key that the error names first is renamed or left out. If it names none, those are left
        out that servers refuse without a name.
        """
        words = error.message.rpartition(" returned status ")[2]
        places = {key: self._place(key, words) for key in _OPTIONAL}
        named = min((key for key in places if places[key] >= 0), key=places.__getitem__, default="")
        if named:
            is_new = named in _RENAMED and named not in self._named
            self._named[named] = _RENAMED[named] if is_new else ""
            self._changes = self._named
        elif self._unnamed:
            self._changes = {**self._named, **dict.fromkeys(self._unnamed.pop(0), "")}
        else:
            return False
        return True

    def accept(self) -> dict[str, str]:
        """Keep the keys of the last attempt, and return what was changed of this request."""
        self._known.update(self._changes)
        return {key: name for key, name in self._changes.items() if key in self._body}

    def _place(self, key: str, words: str) -> int:
        """Return where a server's words name a key of the request, or -1."""
        name = self._changes.get(key, key)
        found = re.search(rf"\b{name}\b", words) if key in self._body and name else None
        return -1 if found is None else found.start()
