"""Settings of a model: which server is used, and the limits of a request to it."""

from typing import Protocol

import msgspec


class ModelSettings(Protocol):
    """The `model` section of the configuration, as far as it selects and limits a server."""

    @property
    def provider(self) -> str:
        """`auto`, `openai` or `embedded`."""

    @property
    def base_url(self) -> str | None:
        """Address of the server."""

    @property
    def name(self) -> str | None:
        """Name of the model on that server."""

    @property
    def exact(self) -> bool:
        """No prompt cache, one request at a time."""

    @property
    def timeout_s(self) -> float:
        """Seconds for one attempt."""

    @property
    def retries(self) -> int:
        """Further attempts after the first."""

    @property
    def max_concurrency(self) -> int:
        """Maximum of concurrent requests."""


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts and retries. `timeout_s` covers one attempt, from sending to the last byte."""

    timeout_s: float = 60.0
    retries: int = 4
    max_concurrency: int = 2
    backoff_s: float = 0.5


def request_limits(settings: ModelSettings) -> RequestLimits:
    """Return the configured limits; `exact` allows one request at a time."""
    return RequestLimits(
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        max_concurrency=1 if settings.exact else settings.max_concurrency,
    )
