"""Conversion of HTTP failures to `ModelError`.

Errors include a hint and never contain the API key.
"""

import contextlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2

from remora.config.user_folders import KEY_VARIABLES
from remora.errors import ContextTooLarge, ModelError, RefusedRequest, UnparsedAnswer
from remora.models.client.retry_policy import (
    LONGEST_PAUSE_S,
    Failure,
    Reply,
    Silence,
    retry_after_s,
)
from remora.models.client.server_address import Address

_MAX_MESSAGE = 600
_KINDS = {400: RefusedRequest, 422: RefusedRequest}
_TOO_LARGE = re.compile(
    r"(?!.*(should be|not permitted|forbidden))"
    r"(?=.*((?<![a-z])(context|prompt|inputs?\b|messages\b|max_seq_len|sequence)|too many tokens|request too large))"
    r"(?=.*(exceed|too (long|large|many)|(long|larg|great)er than|maximum|reduce|overflow|reached"
    r"|must (be <=|have less)|range of|max seq))"
    r"(?=.*(token|length|long|large|size|window|context))",
    re.IGNORECASE | re.DOTALL,
)
"""In the words of 30 messages of servers: what is read, that it is too much, and what is counted."""
_TOO_LARGE_STATUSES = (400, 413, 422, 500)
_PROXIED = ("http", "https", "all")
_HINTS = {
    401: "set {variable} to a key that this server accepts",
    403: "the key in {variable} is not allowed to use this model",
    404: "check {setting} and {section}.name{shown_by}",
    429: "the server limits the request rate: wait, or lower model.max_concurrency",
}
_NO_KEY = (
    "no key was sent: set {variable}, and set the address with {places} "
    "or your user config.yaml (keys are never sent to an address set by a project)"
)
_WORDS = {
    "model": {
        "section": "model",
        "variable": "{} (or {})".format(*KEY_VARIABLES["model"]),
        "places": "--model, REMORA_MODEL__BASE_URL",
        "shown_by": ": `remora model status` shows what the server has",
        "otherwise": "remove it to work without a model",
    },
    "escalation": {
        "section": "escalation",
        "variable": KEY_VARIABLES["escalation"][0],
        "places": "REMORA_ESCALATION__BASE_URL",
        "shown_by": "",
        "otherwise": "set escalation.enabled to false",
    },
}
"""Words in hints, for each configuration section that sets an address."""


def server_failure(
    failure: Failure, address: Address, *, key: str | None, timeout_s: float
) -> ModelError:
    """Return the error for a server that refused a request or did not respond."""
    if isinstance(failure, Reply):
        return _refused(failure, address, key)
    return _unreachable(failure, address, timeout_s)


def unusable_answer(address: Address, why: str) -> ModelError:
    """Return the error for a 2xx response that cannot be used."""
    return ModelError(
        f"the model server at {address.shown} sent an unusable response: {why}",
        hint=f"check that there is an OpenAI-compatible server at {address.setting}",
    )


def unusable_environment(error: Exception) -> ModelError:
    """Return the error for a variable with which no HTTP client can be made.

    The words of the error about a proxy are not shown, because they may hold parts of a password.
    """
    hint = "correct the variable, or remove it"
    if isinstance(error, OSError):
        names, why = "SSL_CERT_FILE or SSL_CERT_DIR", " ".join(str(error).split())[:200]
    else:
        proxies = {name: url for name, url in getproxies().items() if name in _PROXIED}
        odd = [name for name in proxies if not proxies[name].startswith("http")] or list(proxies)
        names = " and ".join(f"{name.upper()}_PROXY" for name in odd)
        is_socks = isinstance(error, ImportError)
        why = "SOCKS needs the package socksio" if is_socks else "not the address of an HTTP proxy"
        hint += "; a host in NO_PROXY is asked without a proxy"
    return ModelError(f"the environment's {names} cannot be used: {why}", hint=hint)


def _refused(reply: Reply, address: Address, key: str | None) -> ModelError:
    text = reply.body.decode("utf-8", "replace")
    message = _server_message(text)
    if key:
        message = message.replace(key, "…")
    if reply.status in _TOO_LARGE_STATUSES and _TOO_LARGE.match(message):
        return ContextTooLarge(
            f"the model server at {address.shown} reports that the request is too large: {message}",
            hint="lower runner.memory.packet_size_limit, or serve the model with a larger context",
        )
    if 300 <= reply.status < 400:
        return ModelError(
            f"the model server at {address.shown} redirects to {_place(reply.location)}",
            hint=f"set {address.setting} to the server's own address",
        )
    hint = _NO_KEY if key is None and reply.status in (401, 403) else ""
    if (pause := retry_after_s(reply, now := datetime.now(UTC))) and pause > LONGEST_PAUSE_S:
        when = now + timedelta(seconds=pause)
        hint = f"the server takes requests again from {when:%Y-%m-%d %H:%M} UTC"
    hint = hint or _HINTS.get(reply.status, "check the server's log" if reply.status >= 500 else "")
    kind = UnparsedAnswer if reply.is_unparsed else _KINDS.get(reply.status, ModelError)
    return kind(
        f"the model server at {address.shown} returned status {reply.status}: {message}",
        hint=_worded(hint, address),
    )


def _place(location: str) -> str:
    """Return the address that a server redirects to, without credentials and parameters."""
    try:
        url = httpx2.URL(location)
    except httpx2.InvalidURL:
        return "another address"
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))[:200]


def _unreachable(error: httpx2.TransportError, address: Address, timeout_s: float) -> ModelError:
    if isinstance(error, httpx2.ReadTimeout | httpx2.WriteTimeout):
        timeout_s = error.seconds if isinstance(error, Silence) else timeout_s
        return ModelError(
            f"the model server at {address.shown} did not respond within {timeout_s:g} s",
            hint="raise model.timeout_s, or lower model.max_concurrency",
        )
    why = "the connection timed out"
    if not isinstance(error, httpx2.TimeoutException):
        why = " ".join(str(error).split())[:200] or "the connection was lost"
    hint = "start the server, correct {setting}, or {otherwise}"
    if "CERTIFICATE_VERIFY_FAILED" in why:
        hint = "set SSL_CERT_FILE to the certificate of the server's authority"
    elif proxy := _proxy(httpx2.URL(address.api)) if not address.loopback else "":
        hint = f"correct {proxy}, or add the host to NO_PROXY: requests go through that proxy"
    return ModelError(
        f"cannot reach the model server at {address.shown}: {why}", hint=_worded(hint, address)
    )


def _proxy(url: httpx2.URL) -> str:
    """Return the variable with the proxy of a URL, or an empty text."""
    names = [name for name in (url.scheme, "all") if name in getproxies()]
    return "" if not names or proxy_bypass(url.host) else f"{names[0].upper()}_PROXY"


def _worded(hint: str, address: Address) -> str:
    return hint.format_map({**_WORDS[address.section], "setting": address.setting})


def _server_message(text: str) -> str:
    with contextlib.suppress(ValueError, RecursionError):
        text = error_field(json.loads(text)) or text
    return " ".join(text.split())[:_MAX_MESSAGE] or "nothing"


def error_field(body: Any) -> str:
    """Return a server's words about an error, in the forms of several servers, or an empty text."""
    match body:
        case [dict(first), *_] | {"errors": [dict(first), *_]}:
            return error_field(first)
        case {"error": {"message": str(message), **more}}:
            words = (more.get(name) for name in ("param", "code", "type"))
            told = [word for word in words if isinstance(word, str) and word not in message]
            return f"{message} ({', '.join(told)})" if told else message
        case {"error": str(message)} | {"message": str(message)} | {"detail": str(message)}:
            return message
        case {"msg": str(message)} | {"base_resp": {"status_msg": str(message)}}:
            return message
        case {"error": dict(inner)}:
            return error_field(inner)
    return ""
