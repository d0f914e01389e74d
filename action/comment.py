"""Writes remora.md as one comment on the pull request, and edits that comment in later runs.

The comment is found by a marker that readers do not see, with the name of the artifact, so that two
uses of the action have two comments. Only comments of the token's own account are edited; if the
token may not ask for its account, as in workflows, those of bots. Needs no package.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `python3 -I` leaves the script's folder out

from github_api import FAILURES, ask, is_denied, own_comments, pull_request, reason

MAX_BODY = 65_000
"""GitHub refuses a comment with more than 65,536 characters."""


def main() -> int:
    """Create or edit the comment. A token that may not comment does not fail the job."""
    found = pull_request()
    if found is None:
        print("no comment: this is not a pull request")
        return 0
    text = (Path(os.environ["ACTION_REPORTS"]) / "remora.md").read_text(encoding="utf-8")
    try:
        print(_write(found["number"], text))
    except FAILURES as error:
        level = "warning" if is_denied(error) else "error"
        print(f"::{level}::no comment: {reason(error)}")
        return 0 if is_denied(error) else 1
    return 0


def _write(number: int, text: str) -> str:
    marker = f"<!-- remora check {os.environ['ACTION_ARTIFACT'].replace('--', '')} -->"
    body = f"{marker}\n{text}"
    suggested = os.environ.get("ACTION_SUGGESTED", "")
    if len(body) + len(suggested) > MAX_BODY:
        body = f"{body[: MAX_BODY - len(suggested)]}\n\nThe rest is in the artifact."
    if suggested:
        body += f"\n\n{suggested}"
    own = next(own_comments(f"issues/{number}/comments", marker), None)
    if own is not None:
        ask("PATCH", f"issues/comments/{own['id']}", {"body": body})
        return f"edited comment {own['id']}"
    if os.environ["ACTION_STATUS"] == "0":
        return "no comment: there are no problems"
    made = ask("POST", f"issues/{number}/comments", {"body": body})
    return f"wrote comment {made['id']}"


if __name__ == "__main__":
    sys.exit(main())
