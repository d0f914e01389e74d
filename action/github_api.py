"""Requests to GitHub's REST API, for the scripts that write on a pull request. Needs no package."""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FAILURES = (OSError, http.client.HTTPException, ValueError)
"""What a request raises: HTTPError is an OSError."""
_DENIED = (401, 403)
_PAGE = 100


def pull_request() -> dict[str, Any] | None:
    """Return the pull request of the event, or None if the event is about something else."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    found: dict[str, Any] | None = event.get("pull_request")
    return found


def ask(method: str, path: str, document: dict[str, Any] | None = None) -> Any:
    """Send a request about the repository, and return the answer."""
    return _request(method, f"/repos/{os.environ['GITHUB_REPOSITORY']}/{path}", document)


def pages(path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of all pages of a list."""
    page = 1
    while found := ask("GET", f"{path}?per_page={_PAGE}&page={page}"):
        yield from found
        page += 1


def own_comments(path: str, marker: str) -> Iterator[dict[str, Any]]:
    """Yield the comments of a list that this token's account wrote and that begin with a marker."""
    login = _login()
    for comment in pages(path):
        user = comment.get("user") or {}
        # the token of an app may not ask for its own name, but no person is a bot
        is_own = user.get("login") == login if login else user.get("type") == "Bot"
        if is_own and str(comment.get("body")).startswith(marker):
            yield comment


def is_denied(error: Exception) -> bool:
    """Return True if the token may not do what was asked for."""
    return isinstance(error, urllib.error.HTTPError) and error.code in _DENIED


def reason(error: Exception) -> str:
    """Return why a request failed, in one line."""
    if not isinstance(error, urllib.error.HTTPError):
        return str(getattr(error, "reason", error) or type(error).__name__)
    details = _details(error)
    if error.code in _DENIED:
        return (
            "the token may not write it; grant `pull-requests: write` "
            f"(pull requests from forks never may){details}"
        )
    return f"GitHub answered {error.code} {error.reason}{details}"


def _details(error: urllib.error.HTTPError) -> str:
    """Return GitHub's own words about an error, if they say more than its number."""
    try:
        answer = json.loads(error.read())
        texts = [answer["message"], *map(_error_text, answer.get("errors", ()))]
    except (*FAILURES, KeyError, TypeError, AttributeError):
        return ""
    texts = [" ".join(str(text).split()) for text in texts]
    found = "; ".join(text for text in texts if text != error.reason)
    return f": {found[:500]}" if found else ""


def _error_text(error: Any) -> Any:
    return error.get("message", error) if isinstance(error, dict) else error


def _login() -> str | None:
    try:
        return str(_request("GET", "/user")["login"])
    except urllib.error.HTTPError as error:
        if error.code in (*_DENIED, 404):
            return None
        raise


def _request(method: str, path: str, document: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        method=method,
        data=None if document is None else json.dumps(document).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['ACTION_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "User-Agent": "remora",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
