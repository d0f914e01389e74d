"""Model settings, which select the server and limit the requests sent to it."""

from typing import Protocol

import msgspec


class ServerName(Protocol):
    """Address of a server, and the name of a model on it."""

    @property
    def base_url(self) -> str | tuple[str, ...] | None:
        """Address of the server, or of several servers with the same model."""

    @property
    def name(self) -> str | None:
        """Name of the model on that server."""


class ModelSettings(ServerName, Protocol):
    """Settings in the `model` section that select a server and limit the requests to it."""

    @property
    def provider(self) -> str:
        """`auto`, `openai`, `embedded` or `none`."""

    @property
    def exact(self) -> bool:
        """True to disable the prompt cache and send only one request at a time."""

    @property
    def timeout_s(self) -> float:
        """Timeout of one attempt, in seconds."""

    @property
    def retries(self) -> int:
        """Maximum number of retries after the first attempt."""

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent requests to one server."""

    @property
    def tokens_per_second(self) -> int | None:
        """Maximum number of tokens per second of one server, or None for no limit."""


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the requests to a server.

    `timeout_s` is the limit for one attempt, from sending the request to receiving the last byte.
    """

    timeout_s: float = 60.0
    retries: int = 4
    max_concurrency: int = 2
    backoff_s: float = 0.5
    tokens_per_second: int | None = None


def request_limits(settings: ModelSettings) -> RequestLimits:
    """Return the configured limits. If `exact` is true, only one request at a time is allowed."""
    return RequestLimits(
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        max_concurrency=1 if settings.exact else settings.max_concurrency,
        tokens_per_second=settings.tokens_per_second,
    )


def addresses_in(server: ServerName) -> tuple[str, ...]:
    """Return the configured addresses."""
    found = server.base_url
    return (found,) if isinstance(found, str) else found or ()
