"""Suggests fixes on the lines that a pull request shows, as one review, from remora.json.

A reader applies a suggestion with a click. It replaces lines of the pull request's diff, so a fix
is suggested only if all lines that it changes are in the diff, and the file is the same as at the
head of the pull request. Edits that need each other, such as an import and its uses, are suggested
together or not at all. Suggestions that the pull request already has are not repeated. Needs no
package.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

sys.path.insert(0, str(Path(__file__).parent))  # `python3 -I` leaves the script's folder out

from github_api import FAILURES, ask, own_comments, pages, pull_request, reason

MOST = 20
"""Suggestions that stand on a pull request at a time. A reader loses track of more."""
MAX_BODY = 60_000
"""GitHub refuses a comment with more than 65,536 characters."""
MARKER = "<!-- remora suggestion "
_NAMED = 3
"""Problems that a suggestion names."""
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_TICKS = re.compile(r"`+")


class File(NamedTuple):
    """A file of the pull request, and the lines of each hunk of its diff."""

    path: str
    lines: Sequence[str]
    hunks: Sequence[range]


class Suggestion(NamedTuple):
    """The lines from `start` to `end`, and the text that replaces them."""

    path: str
    start: int
    end: int
    lines: Sequence[str]
    about: str

    @property
    def marker(self) -> str:
        """A line that readers do not see, which recognizes the same suggestion elsewhere."""
        content = "\n".join((str(self.end - self.start), *self.lines))
        return f"{MARKER}{hashlib.sha256(content.encode()).hexdigest()[:16]} -->"

    def comment(self, others: int) -> dict[str, Any]:
        """Return the comment of a review. `others` counts the suggestions that belong with it."""
        longest = max((len(ticks) for ticks in _TICKS.findall("\n".join(self.lines))), default=0)
        fence = "`" * max(3, longest + 1)
        parts = [self.marker, self.about, "", f"{fence}suggestion", *self.lines, fence]
        if others:
            number = f"{others} other suggestion{'' if others == 1 else 's'}"
            parts += ["", f"This needs {number} of the same change: add all to one batch."]
        place: dict[str, Any] = {"path": self.path, "line": self.end, "side": "RIGHT"}
        if self.start < self.end:  # GitHub refuses equal lines
            place |= {"start_line": self.start, "start_side": "RIGHT"}
        return {**place, "body": "\n".join(parts)}


def main() -> int:
    """Write one review. Nothing that GitHub refuses fails the job."""
    found = pull_request()
    if found is None:
        print("no suggestions: this is not a pull request")
        return 0
    reports = Path(os.environ["ACTION_REPORTS"])
    document = json.loads((reports / "remora.json").read_text(encoding="utf-8"))
    try:
        text = _suggest(found, document) if document.get("changes") else ""
    except FAILURES as error:
        print(f"::warning::no suggestions: {reason(error)}")
        return 0
    print(text or "no suggestions: no fix is wholly on lines that the pull request shows")
    if text:
        for name, line in (("GITHUB_OUTPUT", f"text={text}"), ("GITHUB_STEP_SUMMARY", f"\n{text}")):
            with Path(os.environ[name]).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
    return 0


def _suggest(found: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Write the suggestions that do not stand yet, and return a sentence about all of them."""
    number, head = found["number"], found["head"]["sha"]
    groups = list(_groups(document, _files(number, document)))
    if not groups:
        return ""
    # GitHub has no line for a comment on a line that has changed since
    standing = {
        (comment["path"], comment["line"], comment["body"].split("\n", 1)[0].rstrip())
        for comment in own_comments(f"pulls/{number}/comments", MARKER)
        if comment.get("line")
    }
    comments: list[dict[str, Any]] = []
    kept = left = 0
    for group in groups:
        new = [s for s in group if (s.path, s.end, s.marker) not in standing]
        kept += len(group) - len(new)
        if len(standing) + len(comments) + len(new) > MOST:
            left += len(new)
        else:
            comments += [suggestion.comment(len(group) - 1) for suggestion in new]
    text = _text(kept + len(comments), left)
    if comments:
        review = {"commit_id": head, "event": "COMMENT", "body": text, "comments": comments}
        ask("POST", f"pulls/{number}/reviews", review)
    return text


def _text(shown: int, left: int) -> str:
    places = f"{shown} place{'' if shown == 1 else 's'}"
    more = f"; {left} more would exceed the limit of {MOST} suggestions" if left else ""
    return f"Remora suggests a verified fix at {places} of this pull request{more}."


def _files(pull: int, document: Mapping[str, Any]) -> dict[str, File]:
    """Return the files that the pull request shows and the check would change, by escaped path.

    A file that differs from the head of the pull request, as after a merge with the base, has
    other lines there, so it is left out.
    """
    root = Path(document["root"])
    wanted = {f["path"] for change in document["changes"] for f in change["files"] if f["edits"]}
    prefix = _git(root, "rev-parse", "--show-prefix").decode().removesuffix("\n") if wanted else ""
    names = {prefix + path: spelled for spelled in wanted if (path := _unescaped(spelled))}
    found = {}
    for file in pages(f"pulls/{pull}/files") if names else ():
        spelled = names.get(file["filename"])
        if spelled is None or not file.get("patch"):  # GitHub leaves out long ones
            continue
        path = root / file["filename"].removeprefix(prefix)
        if _git(root, "hash-object", "--", str(path)).decode().strip() == file["sha"]:
            text = path.read_bytes().decode("utf-8", "replace")
            sides = ((int(start), int(n or 1)) for start, n in _HUNK.findall(file["patch"]))
            hunks = [range(start, start + number) for start, number in sides]
            found[spelled] = File(file["filename"], text.split("\n"), hunks)
    return found


def _unescaped(path: str) -> str:
    """Return a path of the report as GitHub writes it, or an empty string if it cannot."""
    try:
        return unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return ""


def _git(root: Path, *words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=False)  # noqa: S607
    if done.returncode:
        raise OSError(f"git {words[0]}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


def _groups(
    document: Mapping[str, Any], files: Mapping[str, File]
) -> Iterator[Sequence[Suggestion]]:
    """Yield the suggestions that need each other, for each group of edits that can be suggested.

    Of two that replace the same lines, the first one is suggested.
    """
    taken: set[tuple[str, int]] = set()
    for change in document["changes"]:
        if any(file["edits"] is None for file in change["files"]):
            continue
        edits = [
            (group, file, edit)
            for file in change["files"]
            for group, edit in zip(file["groups"], file["edits"], strict=True)
        ]
        edits.sort(key=lambda part: part[0])
        for _, parts in groupby(edits, key=lambda part: part[0]):
            found = [
                _suggestion(document, change, file, edit, files.get(file["path"]))
                for _, file, edit in parts
            ]
            known = [suggestion for suggestion in found if suggestion is not None]
            lines = [(s.path, line) for s in known for line in range(s.start, s.end + 1)]
            is_free = len({*lines}) == len(lines) and taken.isdisjoint(lines)
            if len(known) == len(found) and is_free:
                taken.update(lines)
                yield known


def _suggestion(
    document: Mapping[str, Any],
    change: Mapping[str, Any],
    file: Mapping[str, Any],
    edit: Mapping[str, Any],
    shown: File | None,
) -> Suggestion | None:
    """Return an edit as a suggestion, or None if it cannot be one."""
    if file["kind"] != "modified" or shown is None:
        return None
    lines = edit["text"].removesuffix("\n").split("\n") if edit["text"] else []
    place = _placed(shown, file["diff"], edit, lines)
    if place is None:
        return None
    start, end, lines = place
    before = shown.lines[start - 1 : end]
    lines, before = ([line.removesuffix("\r") for line in side] for side in (lines, before))
    about = _about(document, change, edit)
    # a suggestion has no line ends of its own, so it cannot change them
    if lines == before or "\r" in "".join(lines) or len("\n".join(lines)) > MAX_BODY:
        return None
    return Suggestion(shown.path, start, end, lines, about)


def _placed(
    shown: File, diff: str, edit: Mapping[str, Any], lines: list[str]
) -> tuple[int, int, list[str]] | None:
    """Return the first and the last line to replace, and the new lines, or None.

    A suggestion replaces lines, so what only adds or deletes lines also has the line above, or else
    the one below. All of them must be in one hunk of the pull request.
    """
    start, end = edit["start"], edit["end"] - 1
    places = []
    if lines and start <= end:
        places.append((start, end, lines))
    else:
        if (above := _context(shown, diff, start - 1)) is not None:
            places.append((start - 1, end, [above, *lines]))
        if (below := _context(shown, diff, end + 1)) is not None:
            places.append((start, end + 1, [*lines, below]))
        if start <= end:
            places.append((start, end, []))
    return next(
        (p for p in places if any(p[0] in hunk and p[1] in hunk for hunk in shown.hunks)), None
    )


def _context(shown: File, diff: str, line: int) -> str | None:
    """Return an unchanged line beside an edit, or None if the diff has another one there.

    In the diff, a line with a secret is redacted.
    """
    text = shown.lines[line - 1] if 1 <= line <= len(shown.lines) else None
    return text if f"\n {text}\n" in diff else None


def _about(document: Mapping[str, Any], change: Mapping[str, Any], edit: Mapping[str, Any]) -> str:
    """Return the problems that an edit fixes, in Markdown."""
    lines = range(edit["start"], max(edit["end"], edit["start"] + 1))
    fixed = [
        problem
        for problem in document["problems"]
        if problem["fixable"]
        and problem["line"] in lines
        and all(problem[key] == change[key] for key in ("operation", "path"))
    ]
    texts = [f"{_code(problem['code'])} {_code(problem['message'])}" for problem in fixed[:_NAMED]]
    more = f" and {len(fixed) - _NAMED} more" if len(fixed) > _NAMED else ""
    named = ", ".join(texts) or _code(change["name"] or change["path"])
    return f"Remora {change['operation']}: {named}{more}"


def _code(text: str) -> str:
    """Return `text` as a code span, which mentions no user."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    if not shown:
        return ""
    longest = max((len(ticks) for ticks in _TICKS.findall(shown)), default=0)
    room = " " if longest else ""
    return f"{'`' * (longest + 1)}{room}{shown}{room}{'`' * (longest + 1)}"


if __name__ == "__main__":
    sys.exit(main())
