"""Arms of an evaluation: the model settings that are compared."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remora.errors import UsageError
from remora.models.embedded.weights import MODEL

RULES = "rules"
_BY_MODEL = {"runner.decisions": "model"}
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    RULES: {"model.provider": "none"},
    "embedded": {"model.provider": "embedded", "model.name": MODEL, **_BY_MODEL},
    "configured": _BY_MODEL,
}
_OPTIONS = ("decoding", "renderer")


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its settings. `name` is the value of `--arm`, and `settings` override others."""

    name: str
    settings: Mapping[str, Any]


def parse_arm(text: str) -> Arm:
    """Return the arm that a value of `--arm` describes. Raises UsageError if it is invalid."""
    name, *options = text.split(",")
    if name in _SETTINGS:
        settings = dict(_SETTINGS[name])
    elif name.startswith(("http://", "https://")):
        settings = {"model.provider": "openai", "model.base_url": name, **_BY_MODEL}
    else:
        raise UsageError(
            f"unknown arm {name!r}",
            hint=f"use {', '.join(_SETTINGS)} or the address of a server: http://HOST:PORT/v1",
        )
    for option in options:
        key, _, value = option.partition("=")
        if key not in _OPTIONS or not value:
            raise UsageError(
                f"unknown option {option!r} of the arm {name}",
                hint=f"use {' or '.join(f'{each}=VALUE' for each in _OPTIONS)}",
            )
        settings[f"model.{key}"] = value
    return Arm(name=text, settings=settings)
