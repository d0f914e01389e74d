"""Model settings, which select the server and limit requests to it."""

from typing import Protocol

import msgspec


class ModelSettings(Protocol):
    """The settings in the `model` section of the configuration that select and limit a server."""

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
        """True to disable the prompt cache and send only one request at a time."""

    @property
    def timeout_s(self) -> float:
        """Maximum seconds for one attempt."""

    @property
    def retries(self) -> int:
        """Maximum number of further attempts after the first one."""

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent requests."""


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts and retries. `timeout_s` limits one attempt, from sending to the last byte."""

    timeout_s: float = 60.0
    retries: int = 4
    max_concurrency: int = 2
    backoff_s: float = 0.5


def request_limits(settings: ModelSettings) -> RequestLimits:
    """Return the configured limits. With `exact`, only one request at a time is allowed."""
    return RequestLimits(
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        max_concurrency=1 if settings.exact else settings.max_concurrency,
    )
