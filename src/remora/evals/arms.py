"""Arms of an evaluation: the models and settings that are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remora.errors import UsageError
from remora.models.embedded.known_models import DEFAULT

RULES = "rules"
_BY_MODEL = {"runner.decisions": "model"}
_MODELS: Mapping[str, Mapping[str, Any]] = {
    RULES: {"model.provider": "none"},
    "embedded": {"model.provider": "embedded", "model.name": DEFAULT.name, **_BY_MODEL},
    "configured": _BY_MODEL,
}
OPTIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    "decoding": ("model.decoding", ("auto", "grammar", "tool_call", "json_schema", "text")),
    "renderer": ("model.renderer", ("lines", "json", "functiongemma")),
    "memory": ("runner.memory.mode", ("packets", "masked", "raw")),
    "limit": ("runner.memory.packet_size_limit", ()),
}
"""The options of an arm: the setting and its values, or none for a number."""


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """A model with its settings. `name` is the value of `--arm`, and `settings` override others."""

    name: str
    settings: Mapping[str, Any]


def parse_arm(text: str) -> Arm:
    """Return the arm that a value of `--arm` describes. Raises UsageError if it is invalid."""
    name, *options = text.split(",")
    if name in _MODELS:
        settings = dict(_MODELS[name])
    elif name.startswith(("http://", "https://")):
        settings = {"model.provider": "openai", "model.base_url": name, **_BY_MODEL}
    else:
        raise UsageError(
            f"unknown arm {name!r}",
            hint=f"use {', '.join(_MODELS)} or the address of a server: http://HOST:PORT/v1",
        )
    for option in options:
        settings |= _setting_of(option)
    return Arm(name=text, settings=settings)


def _setting_of(option: str) -> Mapping[str, Any]:
    name, _, value = option.partition("=")
    setting, values = OPTIONS.get(name, ("", ()))
    if value in values:
        return {setting: value}
    if not setting or values or not (value.isascii() and value.isdigit()):
        raise UsageError(f"unknown option {option!r} of an arm", hint=f"use {options_text()}")
    return {setting: int(value)}


def options_text() -> str:
    """Return the options of arms with their values."""
    return ", ".join(f"{name}={'|'.join(values) or 'N'}" for name, (_, values) in OPTIONS.items())
