"""The model to use: a configured address, else the embedded one, else none."""

from pathlib import Path
from typing import Any, Protocol

import msgspec

from remora.errors import ConfigError, ModelError
from remora.models.client.openai_client import ServerFacts
from remora.models.client.retry_policy import Limits
from remora.models.client.server_address import Address, parse_address
from remora.models.client.server_probe import probe
from remora.models.client.sync_http import Door
from remora.models.configured_model import RemoteModel
from remora.models.embedded import weights
from remora.models.embedded.embedded_model import (
    CAPABILITIES,
    CONTEXT,
    EmbeddedModel,
    require_engine,
)
from remora.models.no_model import NAME, NoModel
from remora.models.protocol import Model

_PROBE_S = 10.0
_LOOK_S = 0.3
_USUAL_PORTS = (8080, 11434, 1234, 8000)


class ModelSettings(Protocol):
    """The part of the configuration's `model` section that chooses and treats a server."""

    @property
    def provider(self) -> str:
        """`auto`, `openai` or `embedded`."""

    @property
    def base_url(self) -> str | None:
        """A configured address."""

    @property
    def name(self) -> str | None:
        """The model's name on that server."""

    @property
    def exact(self) -> bool:
        """No prompt cache, one request at a time."""

    @property
    def timeout_s(self) -> float:
        """For one attempt."""

    @property
    def retries(self) -> int:
        """Further attempts."""

    @property
    def max_concurrency(self) -> int:
        """Requests at one time."""


def open_model(settings: ModelSettings, *, cache: Path, api_key: str | None) -> Model:
    """The model that the configuration names. Synchronous; close it with `aclose`.

    A configured address is asked what it can do (once, some milliseconds); the embedded server
    starts with the first question. With `auto` and nothing installed it is a NoModel. Raises ModelError if the address cannot be reached or the
    embedded model cannot run, ConfigError if the settings make no sense.
    """
    limits = Limits(
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        max_concurrency=1 if settings.exact else settings.max_concurrency,
    )
    if settings.provider == "none" or settings.name == NAME:
        return NoModel()
    base_url = _configured(settings)
    missing = _missing(cache) if base_url is None and settings.provider == "auto" else None
    if missing is not None and settings.name is None:
        return NoModel(missing)
    if base_url is None:
        return EmbeddedModel(cache, exact=settings.exact, limits=limits)
    door, facts = _probed(parse_address(base_url), settings, api_key)
    return RemoteModel(door, facts, key=api_key, limits=limits, exact=settings.exact)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """`document` is what `model status --json` prints; `problem` says why it is not reachable."""

    document: dict[str, Any]
    problem: ModelError | None


def status(settings: ModelSettings, *, cache: Path, api_key: str | None) -> Status:
    """Whether the configured model could be asked now, and what it can do.

    Starts nothing; a server at an address generates one token at most. A model that cannot be
    used is a `problem`, not an exception. Raises ConfigError if the settings make no sense.
    """
    base_url = _configured(settings)
    address = None if base_url is None else parse_address(base_url)
    state = weights.check(cache)
    document: dict[str, Any] = {
        "provider": "embedded" if address is None else "openai",
        "base_url": None if address is None else address.shown,
        "name": weights.MODEL if address is None else settings.name,
        "reachable": False,
        "context": None,
        "capabilities": {},
        "weights": {"path": str(state.path), "sha256": state.sha256, "ok": state.ok},
    }
    try:
        facts = _embedded(cache) if address is None else _remote(address, settings, api_key)
    except ModelError as problem:
        return Status(document=document, problem=problem)
    return Status(document=document | facts, problem=None)


def listening() -> list[str]:
    """Addresses of this machine's usual ports where a model server answers: only a suggestion."""
    found = []
    for port in _USUAL_PORTS:
        address = parse_address(f"http://127.0.0.1:{port}/v1")
        door = Door(address, key=None, limits=Limits(timeout_s=_LOOK_S))
        try:
            answer = door.look("GET", f"{address.api}/models")
        except ModelError:
            continue
        finally:
            door.close()
        if isinstance(answer, dict) and isinstance(answer.get("data"), list):
            found.append(address.api)
    return found


def _configured(settings: ModelSettings) -> str | None:
    """The address to use; null means the embedded model, which answers to no other name."""
    address = None if settings.provider == "embedded" else settings.base_url
    if settings.provider == "openai" and settings.base_url is None:
        raise ConfigError(
            "model.provider is openai, but there is no address",
            hint="set model.base_url to http://HOST:PORT/v1, or model.provider to auto",
        )
    if address is None and settings.name not in (None, weights.MODEL):
        raise ConfigError(
            f"there is no address for the model {settings.name}",
            hint="set model.base_url to its server's, such as http://HOST:PORT/v1",
        )
    return address


def _missing(cache: Path) -> str | None:
    """Return how to install the embedded model if it is not there at all, else None."""
    try:
        require_engine()
    except ModelError as error:
        return error.hint
    if weights.weights_path(cache).exists():
        return None
    return "`remora model pull` adds the embedded model, `--model URL` uses a server"


def _embedded(cache: Path) -> dict[str, Any]:
    require_engine()
    weights.require(cache)
    return {
        "reachable": True,
        "context": CONTEXT,
        "capabilities": msgspec.to_builtins(CAPABILITIES),
    }


def _remote(address: Address, settings: ModelSettings, api_key: str | None) -> dict[str, Any]:
    door, facts = _probed(address, settings, api_key)
    door.close()
    return {
        "name": facts.name,
        "reachable": True,
        "context": facts.context,
        "capabilities": msgspec.to_builtins(facts.capabilities),
    }


def _probed(
    address: Address, settings: ModelSettings, api_key: str | None
) -> tuple[Door, ServerFacts]:
    limits = Limits(timeout_s=min(_PROBE_S, settings.timeout_s), retries=settings.retries)
    door = Door(address, key=api_key, limits=limits)
    try:
        return door, probe(door, name=settings.name)
    except BaseException:
        door.close()
        raise
