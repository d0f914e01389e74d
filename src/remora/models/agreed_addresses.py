"""The user's consent to send code to addresses that a project's file chooses.

A project is not trusted, and its file could name the port of any service on this machine. The user
agrees once for each root, address and model that the project names, and the consent is kept in the
state folder of the root.
"""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from remora.config.schema import Config, EscalationConfig, ModelConfig
from remora.config.user_folders import make_private
from remora.config.yaml_positions import KeyPath
from remora.errors import ConfigError, DiskError
from remora.ids import escape_path
from remora.models.provider import wants_none
from remora.regular_file import open_regular, replace_file

FILE = "agreed_addresses.json"
"""File in the state folder of a root."""


class Destination(NamedTuple):
    """A model server that the project chooses, or a model there."""

    section: str
    address: str
    name: str | None
    """The model if the project names it."""
    is_projects: bool
    """True if the address is the project's, and not the user's."""

    @property
    def entry(self) -> str:
        """The consent, as in `model.allow_addresses`."""
        return f"{self.address}#{quote(self.name)}" if self.name else self.address


_KEY = ("model", "allow_addresses")
_LONGEST_FILE = 1 << 20


class _Agreed(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file."""

    root: str
    """The root, escaped as in a node key."""
    addresses: tuple[str, ...]
    """What was agreed to, as `Destination.entry` spells it."""


def with_agreed(
    config: Config, places: dict[KeyPath, str], file: Path, root: Path
) -> tuple[Config, dict[KeyPath, str]]:
    """Add the addresses in `file` to `model.allow_addresses`, if the project has any settings."""
    agreed = _read(file, root) if "project" in config.layers.values() else ()
    if not agreed:
        return config, places
    allowed = tuple(dict.fromkeys((*config.model.allow_addresses, *agreed)))
    model = config.model.model_copy(update={"allow_addresses": allowed})
    place = ", ".join(filter(None, (places.get(_KEY), f"your consent in {file}")))
    found = config.model_copy(update={"model": model}).record_layers(config.layers)
    return found, {**places, _KEY: place}


def unagreed_addresses(
    config: Config, name: str | None = None, *, by_project: bool = False
) -> tuple[Destination, ...]:
    """Return where the project has code sent to, and what is not allowed yet.

    `name` is the model that is used, if it is not the configured one. `by_project` is True if an
    agent of the project names it.
    """
    model = config.model if name is None else config.model.model_copy(update={"name": name})
    if wants_none(model):
        return ()
    chosen: list[Destination] = []
    if model.provider != "embedded":
        chosen += _chosen(config, "model", model, "provider", by_project=by_project)
    if config.escalation.enabled:
        chosen += _chosen(config, "escalation", config.escalation, "enabled")
    return tuple(
        destination
        for destination in chosen
        if destination.entry not in config.model.allow_addresses
    )


def require_agreed(config: Config, name: str | None = None, *, by_project: bool = False) -> None:
    """Raise ConfigError if the project has code sent to what is not allowed.

    The parameters are those of `unagreed_addresses`.
    """
    unagreed = unagreed_addresses(config, name, by_project=by_project)
    if left := [destination.entry for destination in unagreed]:
        wanted = json.dumps(list(dict.fromkeys(left)))
        raise ConfigError(
            f"the project's settings send its code to {', '.join(left)}, and you have not agreed",
            hint="run `remora analyze` in a terminal to be asked, or set "
            f"REMORA_MODEL__ALLOW_ADDRESSES={shlex.quote(wanted)}",
        )


def keep_agreed(file: Path, root: Path, addresses: Sequence[str]) -> None:
    """Add addresses to the consent for a root. Raises DiskError if it cannot be written."""
    agreed = tuple(dict.fromkeys((*_read(file, root), *addresses)))
    content = msgspec.json.encode(_Agreed(root=escape_path(str(root)), addresses=agreed))
    try:
        make_private(file.parent)
        replace_file(file, content)
    except OSError as error:
        hint = f"make {file.parent} writable and {file.name} a file, to be asked only once"
        raise DiskError(f"{file}: {error.strerror}", hint=hint) from error


def _chosen(
    config: Config,
    section: str,
    server: ModelConfig | EscalationConfig,
    switch: str,
    *,
    by_project: bool = False,
) -> list[Destination]:
    """Return the address in a section if the project sets or enables it, or names the model."""
    address, named, enabled = (
        config.layer_of(section, key) == "project" for key in ("base_url", "name", switch)
    )
    named |= by_project
    if server.base_url is None or not (address or named or enabled):
        return []
    return [Destination(section, server.base_url, server.name if named else None, address)]


def _read(file: Path, root: Path) -> tuple[str, ...]:
    """Return the addresses in the consent for a root.

    A file that another user could have written, or that is damaged, counts as missing.
    """
    try:
        with open_regular(file) as stream:
            about = os.fstat(stream.fileno())
            if about.st_uid != os.geteuid() or about.st_mode & 0o022:
                return ()
            found = msgspec.json.decode(stream.read(_LONGEST_FILE), type=_Agreed)
    except (OSError, msgspec.MsgspecError):
        return ()
    return found.addresses if found.root == escape_path(str(root)) else ()
