"""Selection of the model: the model at the configured address, the embedded model, or no model.

The HTTP client is imported only when a server is contacted, because most commands do not need it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from remora.errors import ConfigError, ModelError
from remora.models.embedded import weights
from remora.models.embedded.known_models import DEFAULT, KNOWN_MODELS, RECOMMENDED, KnownModel
from remora.models.embedded.weights import CAPABILITIES, require_engine
from remora.models.protocol import NAME, Model, NoModel

if TYPE_CHECKING:
    from remora.config.schema import EscalationConfig, ModelConfig
    from remora.models.client.openai_client import OpenAIClient
    from remora.models.client.server_address import Address

_TO_ADD = (
    f"run `remora model pull {RECOMMENDED.name}` ({RECOMMENDED.cost}), or use a server with "
    "`--model URL` (`remora model status` looks for one)"
)


def open_model(
    settings: "ModelConfig", *, cache: Path, api_key: str | None, set_by: str | None = None
) -> Model:
    """Return the configured model. This call is synchronous. Close the model with `aclose`.

    `set_by` is the configuration layer that set the address, for use in hints. A server at a
    configured address is probed once. The embedded server starts with the first request. With
    `auto`, a NoModel is returned if no address is set and the embedded model is not installed.
    Raises ModelError if the model cannot be reached or run, and ConfigError if the settings are
    invalid.
    """
    if wants_none(settings):
        return NoModel()
    if address := _configured_address(settings):
        from remora.models.client.openai_client import open_client
        from remora.models.client.server_address import parse_address

        parsed = parse_address(address, "model", set_by)
        return open_client(parsed, settings, api_key, name=settings.name)
    missing = why_none(cache) if model_is_optional(settings) else None
    if missing is not None:
        return NoModel(missing)
    from remora.models.client.retry_policy import request_limits
    from remora.models.embedded.embedded_model import EmbeddedModel

    known, limits = embedded_model(settings, cache), request_limits(settings)
    return EmbeddedModel(cache, known, exact=settings.exact, limits=limits)


def open_larger(
    larger: "EscalationConfig", settings: "ModelConfig", *, api_key: str | None, set_by: str | None
) -> Model:
    """Return the model to escalate to, with the limits of `settings`.

    `set_by` is the configuration layer that set its address, for use in hints. Raises ConfigError
    if no address is set, and ModelError if the server cannot be reached.
    """
    if larger.base_url is None:
        raise ConfigError(
            "escalation.enabled is true, but escalation.base_url is not set",
            hint="set escalation.base_url to the address of the larger model's server",
        )
    from remora.models.client.openai_client import open_client
    from remora.models.client.server_address import parse_address

    parsed = parse_address(larger.base_url, "escalation", set_by)
    return open_client(parsed, settings, api_key, name=larger.name)


def check_agent_model(settings: "ModelConfig", name: str | None) -> None:
    """Raise ConfigError if an agent cannot use the model `name` with these settings.

    None means that the agent uses the configured model. No server is contacted.
    """
    if name is not None and not wants_none(settings):
        _configured_address(settings, name)


class ModelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the configured model."""

    document: dict[str, Any]
    """The output of `model status --json`."""
    problem: ModelError | None
    """Why the model cannot be used."""
    is_optional: bool = False
    """True if no model is needed, because rules make all decisions."""


def embedded_model(settings: "ModelConfig", cache: Path) -> KnownModel:
    """Return the embedded model: the named one, or the most able one that is installed."""
    if settings.name in KNOWN_MODELS:
        return KNOWN_MODELS[settings.name]
    return (DEFAULT, *weights.installed_models(cache))[-1]


def used_provider(settings: "ModelConfig", *, cache: Path) -> str:
    """Return `openai`, `embedded`, or `none` if rules make all decisions.

    Does not contact a server or read the weights.
    """
    if wants_none(settings):
        return "none"
    if _configured_address(settings):
        return "openai"
    return "none" if model_is_optional(settings) and why_none(cache) is not None else "embedded"


def check_model(
    settings: "ModelConfig", *, cache: Path, api_key: str | None, set_by: str | None = None
) -> ModelStatus:
    """Return the status and capabilities of the configured model.

    `set_by` is the configuration layer that set the address, for use in hints. Does not start a
    server. A server at a configured address is asked to generate a few tokens. If the model
    cannot be used, the reason is returned as `problem`, and no exception is raised. Raises
    ConfigError if the settings are invalid.
    """
    without = wants_none(settings)
    address = None if without else _configured_address(settings)
    known = embedded_model(settings, cache)
    state = weights.check(cache, known)
    document: dict[str, Any] = {
        "provider": NAME if without else "openai" if address else "embedded",
        "base_url": None,
        "name": NAME if without else settings.name if address else known.name,
        "reachable": False,
        "context": None,
        "counter": None,
        "capabilities": {},
        "weights": {"path": str(state.path), "sha256": state.sha256, "ok": state.ok},
    }
    if without:
        problem = ModelError("no model is configured: rules only", hint=_TO_ADD)
        return ModelStatus(document=document, problem=problem, is_optional=True)
    try:
        if address is None:
            document |= _embedded_facts(cache, known)
        else:
            from remora.models.client.server_address import parse_address

            parsed = parse_address(address, "model", set_by)
            document["base_url"] = parsed.shown
            document |= _server_facts(parsed, settings, api_key)
    except ModelError as problem:
        optional = used_provider(settings, cache=cache) == "none"
        return ModelStatus(document=document, problem=problem, is_optional=optional)
    return ModelStatus(document=document, problem=None)


def wants_none(settings: "ModelConfig") -> bool:
    """Return True if the settings ask for rules only."""
    return settings.provider == "none" or settings.name == NAME


def model_is_optional(settings: "ModelConfig") -> bool:
    """Return True if the embedded model is used only if it is installed and no address is set."""
    return settings.provider == "auto" and settings.name is None and settings.base_url is None


def _configured_address(settings: "ModelConfig", name: str | None = None) -> str | None:
    """Return the address to use, or None for the embedded model.

    `name` overrides the configured name. Raises ConfigError if the settings contradict each other.
    """
    address = None if settings.provider == "embedded" else settings.base_url
    if settings.provider == "openai" and address is None:
        raise ConfigError(
            "model.provider is openai, but model.base_url is not set",
            hint="set model.base_url to http://HOST:PORT/v1, or model.provider to auto",
        )
    name = name or settings.name
    if address is None and name is not None and name not in KNOWN_MODELS:
        raise ConfigError(
            f"model.name is {name}, but model.base_url is not set",
            hint="set model.base_url to the address of a server with this model, such as "
            "http://HOST:PORT/v1, or use a model of `remora model list`",
        )
    return address


def why_none(cache: Path) -> str | None:
    """Return a hint about how to get a model, or None if one is installed."""
    try:
        require_engine()
    except ModelError as error:
        return error.hint
    return None if weights.installed_models(cache) else _TO_ADD


def _server_facts(
    address: "Address", settings: "ModelConfig", api_key: str | None
) -> dict[str, Any]:
    """Return what a server and its model can do, after a question as a job asks it."""
    import asyncio

    from remora.models.client.openai_client import open_client
    from remora.models.client.server_probe import probe_request

    async def ask() -> "OpenAIClient":
        client = open_client(address, settings, api_key, name=settings.name)
        try:
            await client.ask(probe_request(client.capabilities))
        finally:
            await client.aclose()
        return client

    client = asyncio.run(ask())
    return {
        "name": client.name,
        "reachable": True,
        "context": client.context,
        "counter": client.counter.name,
        "capabilities": msgspec.to_builtins(client.capabilities),
    }


def _embedded_facts(cache: Path, known: KnownModel) -> dict[str, Any]:
    require_engine()
    weights.require(cache, known)
    return {
        "reachable": True,
        "context": known.context,
        "counter": f"tokenizer/{known.name}",
        "capabilities": msgspec.to_builtins(CAPABILITIES),
    }
