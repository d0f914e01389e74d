"""Checks for settings that are reserved for the user.

A cloned repository must not be able to grant itself permissions.
"""

import re
from typing import Any

from remora.config.key_variables import KEY_VARIABLES
from remora.config.schema import Config
from remora.config.yaml_positions import KeyPath, ParsedYaml
from remora.errors import ConfigError

# a pattern, not a parser: whatever two parsers could read differently does not match
_LOOPBACK = re.compile(
    r"https?://(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?(/[\w.~/-]*)?", re.ASCII
)
_ADDRESSES = (("model", "base_url"), ("escalation", "base_url"))
_SECRETS: dict[tuple[str, ...], str] = {
    (section, "api_key"): variable for section, (variable, *_) in KEY_VARIABLES.items()
}
"""Keys of servers, and the environment variables that set them."""
_GRANTS = (("workspace", "allow_unsandboxed"), ("runner", "memory", "global_events"))
_SIGNING = ("runner", "memory", "signing_key_file")
_DATABASE = ("postgres", "dsn")
_WHY: dict[tuple[str, ...], str] = {
    **dict.fromkeys(_ADDRESSES, "an address on another machine"),
    **dict.fromkeys(_SECRETS, "a key"),
    _GRANTS[0]: "consent to run code without isolation",
    _GRANTS[1]: "an event log outside the project",
    _SIGNING: "the signing key for anchors",
    _DATABASE: "the address of a database",
}


def is_loopback(address: str) -> bool:
    """Return True if `address` certainly refers to this machine."""
    return _LOOPBACK.fullmatch(address) is not None


def check_project_file(layer: ParsedYaml) -> None:
    """Raise ConfigError if the project's file contains a setting that is reserved for the user."""
    for where, why in _WHY.items():
        found = _at(layer.value, where)
        if found is None or (where in _GRANTS and found is False):
            continue
        if where in _ADDRESSES and _is_here(found):
            continue
        key = ".".join(where)
        raise ConfigError(
            f"{layer.places[where]}: {key}: a project cannot set {why}", hint=_instead(where)
        )


def check_escalation(config: Config, set_by: str | None) -> None:
    """Raise ConfigError if a project's file enables escalation to another machine."""
    if set_by != "project" or not config.escalation.enabled:
        return
    if not is_loopback(config.escalation.base_url or ""):
        raise ConfigError(
            "escalation.enabled: a project can enable escalation only to "
            "an address on this machine",
            hint=_instead(("escalation", "enabled")),
        )


def _is_here(found: Any) -> bool:
    addresses = found if isinstance(found, list) else [found]
    return all(isinstance(each, str) and is_loopback(each) for each in addresses)


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
