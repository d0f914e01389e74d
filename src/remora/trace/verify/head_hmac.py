"""HMAC signatures of stream heads."""

import hmac
import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from remora.errors import ConfigError, DiskError
from remora.memory.events import Head, JobEnd, Payload, Review, RunEnd, RunStart

KEY_VARIABLE = "REMORA_SIGNING_KEY"
"""Environment variable that contains the key."""
ALGORITHM = "hmac-sha256"
MIN_KEY_BYTES = 16
"""Minimum length of a key in bytes."""
_MAX_KEY_FILE = 64 * 1024
_SETTING = "check runner.memory.signing_key_file"
_READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Signer:
    """Signs and verifies stream heads with a key. Only a name derived from the key is exposed."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.name = hmac.digest(key, b"remora signing key", "sha256").hex()[:16]

    @property
    def signing(self) -> dict[str, str]:
        """The value of `signing` in the `run_start` event of a run that is signed with this key."""
        return {"algorithm": ALGORITHM, "key": self.name}

    def sign(self, kind: str, name: str, head: Head) -> str:
        """Return the HMAC-SHA256 of the string `KIND NAME COUNT HASH`, in lowercase hex. `kind` is
        `agent` or `run`.
        """
        text = f"{kind} {name} {head.count} {head.hash}"
        return hmac.new(self._key, text.encode(), sha256).hexdigest()

    def is_right(self, kind: str, name: str, head: Head, signature: str) -> bool:
        """Return True if `signature` was created with this key for this stream and head."""
        return hmac.compare_digest(self.sign(kind, name, head).encode(), signature.encode())


def with_signature(payload: Payload, signer: Signer | None, run_id: str, head: Head) -> Payload:
    """Return a payload of a run's stream with its signing fields filled in.

    `job_end`, `review` and `run_end` get the signature of a head. `run_start` gets the algorithm
    and the name of the key.
    """
    if signer is None:
        return payload
    if isinstance(payload, RunStart):
        return replace(payload, signing=signer.signing)
    if isinstance(payload, RunEnd):
        return replace(payload, signature=signer.sign("run", run_id, head))
    if isinstance(payload, JobEnd | Review) and payload.head.count:
        signature = signer.sign("agent", payload.agent_id, payload.head)
        return replace(payload, signature=signature)
    return payload


def signer_for(signing: Mapping[str, str] | None, signer: Signer | None) -> Signer | None:
    """Return the signer of a run, or None if the run is unsigned.

    Raises ConfigError if the run was signed with a key that is not configured.
    """
    if signing is None:
        return None
    if signer is not None and signer.signing == signing:
        return signer
    raise ConfigError(
        f"this run is signed with the key {signing.get('key')}, which is not configured",
        hint=f"set {KEY_VARIABLE}, or runner.memory.signing_key_file in your user configuration",
    )


def load_signer(environ: Mapping[str, str], key_file: str | None) -> Signer | None:
    """Load the signing key from the environment variable REMORA_SIGNING_KEY, or from the key file.

    Returns None if neither is set. Raises ConfigError if the key is too short, the key file is
    accessible to other users, or its path is relative, and DiskError if the file cannot be read.
    Error messages never contain the key.
    """
    if key := environ.get(KEY_VARIABLE, "").strip():
        return _signer(os.fsencode(key), KEY_VARIABLE)
    if key_file is None:
        return None
    home = environ.get("HOME", "")
    path = Path(home, key_file[2:]) if home and key_file.startswith("~/") else Path(key_file)
    if not path.is_absolute():  # a relative path could be a file in a cloned repository
        raise ConfigError(
            f"{key_file}: the path to the signing key must be absolute", hint=_SETTING
        )
    return _signer(_read(path).strip(), str(path))


def _signer(key: bytes, place: str) -> Signer:
    if len(key) < MIN_KEY_BYTES:
        raise ConfigError(
            f"{place}: the signing key must have at least {MIN_KEY_BYTES} characters",
            hint="create one with `openssl rand -hex 32`",
        )
    return Signer(key)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _READABLE_BY_OTHERS:
                raise ConfigError(
                    f"{path}: other users can read this signing key", hint=f"run `chmod 600 {path}`"
                )
            return file.read(_MAX_KEY_FILE)
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}", hint=_SETTING) from error
