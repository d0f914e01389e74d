"""What a rule is, and how its pattern becomes a matcher whose time is linear in the text."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import re2

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME = 40


class Span(NamedTuple):
    """Where a secret stands: offsets in bytes, the end not included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    `pattern` is RE2 over bytes (each byte one character). The first group that took part is
    the secret; without groups it is the whole match. `needs` is a short pattern without which
    `pattern` cannot match: one pass over the text asks all rules' needs at once. `accept` may
    refuse a secret that was found. With `take`, the match is only the head and `take` says
    what of the text after it is the secret, given the text and the head's span.
    """

    name: str
    pattern: str
    needs: str
    accept: Callable[[bytes], bool] | None = None
    take: Callable[[bytes, Span], Span | None] | None = None


@dataclass(frozen=True, slots=True)
class OwnRule:
    """A rule of the user: `pattern` is RE2 over text; a group named `secret`, else the first
    group, else the whole match is what goes."""

    name: str
    pattern: str


class Match(Protocol):
    """The part of a match that is used here; offsets in bytes."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Start and end of a group, (-1, -1) if it took no part."""


class Matcher(Protocol):
    """A compiled pattern."""

    groups: int
    groupindex: dict[Any, int]

    def finditer(self, text: bytes, pos: int | None = None) -> Iterator[Match]:
        """All matches from left to right, none overlapping another."""

    def search(self, text: bytes, pos: int | None = None) -> Match | None:
        """The leftmost match."""


def compiled(pattern: str, *, utf8: bool = False, longest: bool = False) -> Matcher:
    """`pattern` over bytes, or over UTF-8. Raises ValueError with RE2's own words."""
    options = re2.Options()
    options.log_errors = False
    options.longest_match = longest
    if not utf8:
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        matcher: Matcher = re2.compile(pattern.encode(), options)
    except re2.error as error:
        text = error.args[0] if error.args else ""
        said = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise ValueError(said) from error
    return matcher


def compiled_own(rule: OwnRule) -> tuple[Matcher, int]:
    """The matcher of a user's rule and the number of the group that goes.

    Raises ValueError, with the rule's name, for a name or a pattern that cannot be used.
    """
    if len(rule.name) > _LONGEST_NAME or not _NAME.fullmatch(rule.name):
        raise ValueError(
            f"redaction rule {rule.name!r}: a name is lower-case letters, digits and single "
            f"hyphens, {_LONGEST_NAME} characters at most"
        )
    try:
        matcher = compiled(rule.pattern, utf8=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise ValueError(f"redaction rule {rule.name!r}: {error} in {rule.pattern!r}") from error
    found = matcher.search(b"")
    if found is not None:
        raise ValueError(f"redaction rule {rule.name!r}: {rule.pattern!r} matches empty text")
    return matcher, matcher.groupindex.get(b"secret", min(matcher.groups, 1))


class Needs:
    """Which of many short patterns stand in a text, asked in one pass."""

    def __init__(self, patterns: Sequence[str]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(pattern.encode())
        if patterns:
            self._set.Compile()
        self._any = bool(patterns)

    def met(self, text: bytes) -> Sequence[int]:
        """Positions of the patterns that match somewhere in `text`, in order."""
        return sorted(self._set.Match(text) or ()) if self._any else ()
