"""Writes remora.md as one comment on the pull request, and edits that comment in later runs.

The comment is found by a marker that readers do not see, with the name of the artifact, so that two
uses of the action have two comments. Only comments of the token's own account are edited; if the
token may not ask for its account, as in workflows, those of bots. Needs no package.
"""

import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_BODY = 65_000
"""GitHub refuses a comment with more than 65,536 characters."""
_PAGE = 100


def main() -> int:
    """Create or edit the comment. A token that may not comment does not fail the job."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("no comment: this is not a pull request")
        return 0
    text = (Path(os.environ["ACTION_REPORTS"]) / "remora.md").read_text(encoding="utf-8")
    try:
        print(_write(number, text))
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            print(f"::error::no comment: GitHub answered {error.code} {error.reason}")
            return 1
        print(
            "::warning::no comment: the token may not write it; grant `pull-requests: write` "
            "(pull requests from forks never may)"
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        print(f"::error::no comment: {getattr(error, 'reason', error) or type(error).__name__}")
        return 1
    return 0


def _write(number: int, text: str) -> str:
    marker = f"<!-- remora check {os.environ['ACTION_ARTIFACT'].replace('--', '')} -->"
    body = f"{marker}\n{text}"
    if len(body) > MAX_BODY:
        body = f"{body[:MAX_BODY]}\n\nThe rest is in the artifact."
    own = next(_own_comments(number, marker), None)
    if own is not None:
        _ask("PATCH", f"issues/comments/{own['id']}", {"body": body})
        return f"edited comment {own['id']}"
    if os.environ["ACTION_STATUS"] == "0":
        return "no comment: there are no problems"
    made = _ask("POST", f"issues/{number}/comments", {"body": body})
    return f"wrote comment {made['id']}"


def _own_comments(number: int, marker: str) -> Iterator[dict[str, Any]]:
    """Yield the comments with the marker that this token's account wrote."""
    login = _login()
    page = 1
    while found := _ask("GET", f"issues/{number}/comments?per_page={_PAGE}&page={page}"):
        for each in found:
            user = each.get("user") or {}
            # the token of an app may not ask for its own name, but no person is a bot
            is_own = user.get("login") == login if login else user.get("type") == "Bot"
            if is_own and str(each.get("body")).startswith(marker):
                yield each
        page += 1


def _login() -> str | None:
    try:
        return str(_request("GET", "/user")["login"])
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):
            return None
        raise


def _ask(method: str, path: str, document: dict[str, Any] | None = None) -> Any:
    return _request(method, f"/repos/{os.environ['GITHUB_REPOSITORY']}/{path}", document)


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


if __name__ == "__main__":
    sys.exit(main())
