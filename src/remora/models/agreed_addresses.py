"""The user's consent to send code to addresses that a project's file chooses.

A project is not trusted, and its file could name the port of any service on this machine. The user
agrees once for each root and address, and the consent is kept in the state folder of the root.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from remora.config.schema import Config
from remora.config.user_folders import make_private
from remora.config.yaml_positions import KeyPath
from remora.errors import ConfigError, DiskError
from remora.ids import escape_path
from remora.models.model_settings import addresses_in
from remora.models.provider import wants_none
from remora.regular_file import open_regular

FILE = "agreed_addresses.json"
"""File in the state folder of a root."""
_KEY = ("model", "allow_addresses")
_LONGEST_FILE = 1 << 20


class _Agreed(msgspec.Struct, frozen=True, kw_only=True):
    root: str
    addresses: tuple[str, ...]


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


def unagreed_addresses(config: Config, name: str | None = None) -> tuple[str, ...]:
    """Return the addresses to which the project has code sent, and that are not allowed yet.

    `name` is the model that is used, if it is not the configured one.
    """
    chosen: list[str] = []
    settings = config.model if name is None else config.model.model_copy(update={"name": name})
    if not wants_none(settings):
        if config.model.provider != "embedded" and _chooses(config, "model", "provider"):
            chosen += addresses_in(config.model)
        if config.escalation.enabled and _chooses(config, "escalation", "enabled"):
            chosen += addresses_in(config.escalation)
    return tuple(each for each in dict.fromkeys(chosen) if each not in config.model.allow_addresses)


def require_agreed(config: Config, name: str | None = None) -> None:
    """Raise ConfigError if the project has code sent to an address that is not allowed."""
    left = unagreed_addresses(config, name)
    if left:
        raise ConfigError(
            f"the project's settings send its code to {', '.join(left)}, and you have not agreed",
            hint="run `remora analyze` in a terminal to be asked, "
            f"or allow it with `--allow-address {left[0]}` or model.allow_addresses",
        )


def keep_agreed(file: Path, root: Path, addresses: Sequence[str]) -> None:
    """Add addresses to the consent for a root. Raises DiskError if it cannot be written."""
    every = tuple(dict.fromkeys((*_read(file, root), *addresses)))
    content = msgspec.json.encode(_Agreed(root=escape_path(str(root)), addresses=every))
    written = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        make_private(file.parent)
        written.unlink(missing_ok=True)
        handle = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        written.replace(file)
    except OSError as error:
        raise DiskError(f"{file}: {error.strerror}") from error


def _chooses(config: Config, section: str, switch: str) -> bool:
    """Return True if the project sets the address of a section, or enables its use."""
    return "project" in (config.layer_of(section, "base_url"), config.layer_of(section, switch))


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
