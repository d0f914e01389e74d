"""Signatures of heads: what only a holder of the key could have anchored."""

import hmac
import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from remora.errors import ConfigError, DiskError
from remora.memory.events import Head, JobEnd, Payload, Review, RunEnd, RunStart

VARIABLE = "REMORA_SIGNING_KEY"
"""The environment variable that holds the key itself."""
ALGORITHM = "hmac-sha256"
LEAST = 16
"""Bytes of the shortest key."""
_MOST = 64 * 1024
_SETTING = "runner.memory.signing_key_file names it"
_READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Signer:
    """Signs and checks heads with one key. Shows nothing of the key but a name for it."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.name = hmac.digest(key, b"remora signing key", "sha256").hex()[:16]

    @property
    def signing(self) -> dict[str, str]:
        """What `run_start` holds of a run whose anchors are signed with this key."""
        return {"algorithm": ALGORITHM, "key": self.name}

    def sign(self, kind: str, name: str, head: Head) -> str:
        """Lower-case hex HMAC-SHA256 of `KIND NAME COUNT HASH`; the kind is `agent` or `run`."""
        said = f"{kind} {name} {head.count} {head.hash}"
        return hmac.new(self._key, said.encode(), sha256).hexdigest()

    def is_right(self, kind: str, name: str, head: Head, signature: str) -> bool:
        """Whether a holder of this key signed that head of that stream."""
        return hmac.compare_digest(self.sign(kind, name, head).encode(), signature.encode())


def with_signature(payload: Payload, signer: Signer | None, run_id: str, head: Head) -> Payload:
    """What is appended to a run's stream whose head is `head`: `run_start` names the key,
    `job_end` and `review` sign the head of the agent, `run_end` signs the run's own before it."""
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
    """Who signs what is appended to a run whose `run_start` holds `signing`: nobody where that
    is None, for a run is signed as a whole or not at all.

    Raises ConfigError where the run's key is not the configured one: what is not signed in a
    signed run, a verifier could not tell from a forgery.
    """
    if signing is None:
        return None
    if signer is not None and signer.signing == signing:
        return signer
    raise ConfigError(
        f"this run is signed with the key {signing.get('key')}, which is not configured here",
        hint=f"set {VARIABLE}, or name its file in runner.memory.signing_key_file of your own file",
    )


def find_signer(environ: Mapping[str, str], key_file: str | None) -> Signer | None:
    """The key of REMORA_SIGNING_KEY, else of the file; None where neither is set.

    Raises ConfigError for a key that is too short or that others can read, or a file that is not
    named by its whole path, DiskError for one that cannot be read; none of them shows the key.
    """
    given = environ.get(VARIABLE, "").strip()
    if given:
        return _signer(os.fsencode(given), VARIABLE)
    if key_file is None:
        return None
    home = environ.get("HOME", "")
    path = Path(home, key_file[2:]) if home and key_file.startswith("~/") else Path(key_file)
    if not path.is_absolute():  # in a cloned repository it would be somebody else's file
        raise ConfigError(f"{key_file}: name the signing key by its whole path", hint=_SETTING)
    return _signer(_read(path).strip(), str(path))


def _signer(key: bytes, place: str) -> Signer:
    if len(key) < LEAST:
        raise ConfigError(
            f"{place}: a signing key has at least {LEAST} characters",
            hint="`openssl rand -hex 32` makes one",
        )
    return Signer(key)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _READABLE_BY_OTHERS:
                raise ConfigError(
                    f"{path}: others may read this signing key", hint=f"chmod 600 {path}"
                )
            return file.read(_MOST)
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}", hint=_SETTING) from error
