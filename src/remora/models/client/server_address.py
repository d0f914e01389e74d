"""The address of a model server, with its endpoints and a form that is safe to display."""

import re
from ipaddress import ip_address

import httpx2
import msgspec

from remora.errors import ConfigError

_ENDPOINT = re.compile(
    r"(/+((chat/+)?completions|responses|api/(chat|generate|tags))"
    r"|(?<=/v1)/+(chat|models|messages|embeddings|engines))/*$"
)


class Address(msgspec.Struct, frozen=True):
    """The address of a model server."""

    api: str
    """The base URL of the OpenAI endpoints, usually `…/v1`."""
    root: str | None
    """The base URL of the server's other endpoints, if known."""
    shown: str
    """The address without credentials or query, for use in messages and streams."""
    loopback: bool
    section: str
    """The configuration section that sets the address."""
    set_by: str | None
    """The layer (flag, environment, user or project) that sets it, if known, for use in hints."""

    @property
    def setting(self) -> str:
        """The place where the user can correct the address, in words."""
        key = f"{self.section}.base_url"
        variable = f"REMORA_{self.section.upper()}"
        other = f"{variable} or " if self.section == "model" else ""
        places = {
            "flag": "the address on the command line",
            "environment": f"{other}{variable}__BASE_URL",
            "user": f"{key} in your own configuration",
            "project": f"{key} in the project's configuration",
        }
        return places.get(self.set_by or "", key)


def parse_address(base_url: str, section: str = "model", set_by: str | None = None) -> Address:
    """Parse the `base_url` in a configuration section, which a layer has set.

    The path defaults to `/v1`. It may be that of an endpoint below. Raises ConfigError if the URL is
    invalid.
    """
    try:
        url = httpx2.URL(base_url.strip())
    except (httpx2.InvalidURL, ValueError) as error:
        raise _bad(base_url, section) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise _bad(base_url, section)
    path = _ENDPOINT.sub("", url.path).rstrip("/") or "/v1"
    bare = url.copy_with(path=path, query=None, fragment=None)
    root = bare.copy_with(path=path.removesuffix("/v1") or "/") if path.endswith("/v1") else None
    return Address(
        api=str(bare),
        root=str(root).rstrip("/") if root is not None else None,
        shown=str(bare.copy_with(username=None, password=None)),
        loopback=_is_loopback(url.host),
        section=section,
        set_by=set_by,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bad(base_url: str, section: str) -> ConfigError:
    # there may be a password before an @, so only the text after it is shown
    shown = base_url.rpartition("@")[2]
    return ConfigError(
        f"{section}.base_url is not a valid address: {shown!r}",
        hint="use a URL of the form http://HOST:PORT/v1",
    )
