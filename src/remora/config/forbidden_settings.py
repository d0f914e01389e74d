"""Checks for settings that are reserved for the user.

A cloned repository must not be able to grant itself permissions.
"""

import re
from collections.abc import Container, Mapping
from typing import Any

from remora.config.schema import MAX_COUNT, Config
from remora.config.user_folders import KEY_VARIABLES
from remora.config.yaml_positions import KeyPath, ParsedYaml
from remora.errors import ConfigError
from remora.statuses import NO_MODEL

# a pattern, not a parser: whatever two parsers could read differently does not match
_BYTE = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_LOOPBACK = re.compile(
    rf"https?://(localhost|127(\.{_BYTE}){{3}}|\[::1\])(:\d{{1,5}})?(/|/v1/?)?", re.ASCII
)
_ADDRESSES = (("model", "base_url"), ("escalation", "base_url"))
_CHOICES = tuple(
    (section, key)
    for section, keys in (
        ("model", ("provider", "base_url", "name")),
        ("escalation", ("enabled", "base_url", "name")),
    )
    for key in keys
)
"""Settings that choose or enable a model."""
_SECRETS: dict[tuple[str, ...], str] = {
    (section, "api_key"): variable for section, (variable, *_) in KEY_VARIABLES.items()
}
"""Keys of servers, and the environment variables that set them."""
_CONSENT = ("workspace", "allow_unsandboxed")
_DECISIONS = ("runner", "decisions")
_REPLACED = ("agents", "replace")
_DATABASE = ("postgres", "dsn")
_STORE = ("runner", "memory", "trace_store")
_WHY: dict[tuple[str, ...], str] = {
    **dict.fromkeys(
        _ADDRESSES,
        "an address other than http://localhost:PORT/v1 on this machine",
    ),
    **dict.fromkeys(_SECRETS, "a key"),
    _CONSENT: "consent to run code without isolation",
    ("model", "allow_addresses"): "consent to send code to an address",
    _DECISIONS: "that a model decides",
    _REPLACED: "that its agents replace built-in agents",
    _DATABASE: "the address of a database",
}

_COSTS = (("model", "max_requests"), ("model", "max_tokens"))
_LIMITS = (("hub", "memory_mb"), ("hub", "max_file_mb"), ("gates", "time_s"))
_UPPER = (*_COSTS, ("model", "max_concurrency"), *_LIMITS)
_KEEP_DAYS = ("runner", "memory", "retention", "keep_days")
_LOWER = (("workspace", "require_isolation"), ("runner", "memory", "durability"), _KEEP_DAYS)
"""Limits of the user that a project may only lower, and those that it may only raise."""
_ALWAYS = (*_COSTS, _KEEP_DAYS)
"""Limits that hold against a project even if the user has not set them."""
_RULES = ("redaction", "rules")
_DURABILITY = ("none", "turn", "event")


def is_loopback(address: str) -> bool:
    """Return True if `address` certainly refers to this machine, with the path of a model server.

    With another path, a project could call any HTTP service that listens on this machine.
    """
    return _LOOPBACK.fullmatch(address) is not None


def check_project_file(layer: ParsedYaml) -> None:
    """Raise ConfigError if the project's file contains a setting that is reserved for the user."""
    for where, why in _WHY.items():
        if where not in layer.places:  # null is a value, too: it would replace the user's
            continue
        found = _at(layer.value, where)
        if where in _ADDRESSES and is_loopback(str(found)):
            continue
        if (where, found) in ((_CONSENT, False), (_DECISIONS, "rules")):
            continue
        key = ".".join(where)
        raise ConfigError(
            f"{layer.places[where]}: {key}: a project cannot set {why}", hint=_instead(where)
        )


def check_merged(config: Config, set_by: Mapping[KeyPath, str]) -> None:
    """Raise ConfigError if a project's file enables escalation to another machine, or makes use of
    a database that the user has not named for Remora.

    `set_by` contains the layer that set each value of `config`.
    """
    enables = set_by.get(("escalation", "enabled")) == "project" and config.escalation.enabled
    if enables and not is_loopback(config.escalation.base_url or ""):
        raise ConfigError(
            "escalation.enabled: a project can enable escalation only to "
            "an address on this machine",
            hint=_instead(("escalation", "enabled")),
        )
    is_in_database = config.runner.memory.trace_store == "postgres"
    if is_in_database and set_by.get(_STORE) == "project" and _DATABASE not in set_by:
        raise ConfigError(
            "runner.memory.trace_store: a project can store streams in a database "
            "only if you have set postgres.dsn",
            hint="set REMORA_POSTGRES__DSN (may be empty, for libpq's own variables)",
        )


def kept_from_user(
    user: Mapping[str, Any], merged: Mapping[str, Any], set_by: Container[KeyPath]
) -> dict[tuple[str, ...], Any]:
    """Return the settings of the user that a project's file would weaken, with their values.

    `set_by` contains the settings that the user has set. Redaction rules of a project are added to
    the user's.
    """
    kept: dict[tuple[str, ...], Any] = {}
    for where in (*_UPPER, *_LOWER):
        mine, others = _at(user, where), _at(merged, where)
        excess = _rank(others) - _rank(mine)
        is_weaker = excess > 0 if where in _UPPER else excess < 0
        if is_weaker and (where in set_by or where in _ALWAYS):
            kept[where] = mine
    rules = [*_at(user, _RULES)]
    if rules:
        kept[_RULES] = [*rules, *(rule for rule in _at(merged, _RULES) if rule not in rules)]
    return kept


def without_model(layer: ParsedYaml) -> ParsedYaml:
    """Return a project's settings without those that choose or enable a model, except `none`."""
    kept = dict(layer.value) if isinstance(layer.value, dict) else {}
    removed = {
        where for where in _CHOICES if where in layer.places and _at(layer.value, where) != NO_MODEL
    }
    for section, key in removed:
        if isinstance(kept.get(section), dict):
            kept[section] = {name: value for name, value in kept[section].items() if name != key}
    places = {where: place for where, place in layer.places.items() if where[:2] not in removed}
    return layer._replace(value=kept, places=places) if removed else layer


def _rank(value: Any) -> float:
    if value is None:  # no limit
        return MAX_COUNT + 1
    return _DURABILITY.index(value) if isinstance(value, str) else float(value)


def _at(value: Any, where: KeyPath) -> Any:
    for key in where:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _instead(where: tuple[str, ...]) -> str:
    variable = _SECRETS.get(where, f"REMORA_{'__'.join(where).upper()}")
    return (
        f"remove it from this file; to use it, set {variable}, or set "
        f"{'.'.join(where)} in your own "
        "file, $XDG_CONFIG_HOME/remora/config.yaml (default: ~/.config/remora/config.yaml)"
    )
