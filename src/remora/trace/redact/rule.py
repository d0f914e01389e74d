"""Redaction rules, and matchers that run in linear time."""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import re2

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME = 40
_BASE64_AFTER = re.compile(rb"[A-Za-z0-9+/]{0,80}")
_BASE64_BEFORE = re.compile(rb"[A-Za-z0-9+/]{0,80}\Z")
ESCAPE = r"\\[abfnrtv]"
"""An escape sequence in source code. Its letter is not part of the next word."""


class Span(NamedTuple):
    """Byte offsets of a secret. The end is exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for one kind of secret.

    `pattern` is an RE2 pattern for bytes, in which each byte is one character. The secret is the
    first group that matched, or the whole match if no group did. `needs` is a short pattern for a
    quick first test: if it does not match, `pattern` cannot match either. `accept` may reject a
    match. `find` is for secrets that a pattern cannot describe, and yields them from left to right.
    """

    name: str
    pattern: str
    needs: str
    accept: Callable[[bytes], bool] | None = None
    find: Callable[[bytes, "Matcher"], Iterator[Span]] | None = None


@dataclass(frozen=True, slots=True)
class UserRule:
    """Rule defined by the user, with an RE2 pattern for text.

    The secret is the group named `secret` if there is one, otherwise the first group, otherwise the
    whole match.
    """

    name: str
    pattern: str


class Match(Protocol):
    """The subset of match object methods that is used here. Offsets are in bytes."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return the start and end of a group, or (-1, -1) if it did not match."""


class Matcher(Protocol):
    """A compiled pattern."""

    @property
    def groups(self) -> int:
        """Number of groups in the pattern."""

    @property
    def groupindex(self) -> Mapping[Any, int]:
        """Mapping from the names of named groups to their numbers."""

    def finditer(self, text: bytes, pos: int | None = None) -> Iterator[Match]:
        """Yield all non-overlapping matches from left to right."""

    def search(self, text: bytes, pos: int | None = None) -> Match | None:
        """Return the leftmost match."""


@functools.lru_cache(maxsize=1024)  # the built-in rules have more patterns than RE2 itself caches
def compile_pattern(pattern: str, *, utf8: bool = False, longest: bool = False) -> Matcher:
    """Compile `pattern` for bytes, or for UTF-8 text if `utf8` is true.

    Raises ValueError with the message from RE2 if the pattern is invalid.
    """
    options = re2.Options()
    options.log_errors = False
    options.longest_match = longest
    if not utf8:
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        matcher: Matcher = re2.compile(pattern.encode(), options)
    except re2.error as error:
        text = error.args[0] if error.args else ""
        message = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise ValueError(message) from error
    return matcher


def compile_user_rule(rule: UserRule) -> tuple[Matcher, int]:
    """Return the matcher of a user rule, and the number of the group to replace.

    Raises ValueError if the rule is invalid. The message contains the name of the rule.
    """
    if len(rule.name) > _LONGEST_NAME or not _NAME.fullmatch(rule.name):
        raise ValueError(
            f"redaction rule {rule.name!r}: use only lower-case letters, digits and single "
            f"hyphens in its name, at most {_LONGEST_NAME} characters"
        )
    try:
        matcher = compile_pattern(rule.pattern, utf8=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise ValueError(f"redaction rule {rule.name!r}: {error} in {rule.pattern!r}") from error
    if matcher.search(b"") is not None:
        raise ValueError(f"redaction rule {rule.name!r}: {rule.pattern!r} matches the empty string")
    return matcher, matcher.groupindex.get(b"secret", min(matcher.groups, 1))


def find_secrets(rule: Rule, matcher: Matcher, data: bytes) -> Iterator[Span]:
    """Yield the secrets that `rule` finds in `data`, from left to right."""
    if rule.find is not None:
        yield from rule.find(data, matcher)
        return
    groups = range(1, matcher.groups + 1)
    for match in matcher.finditer(data):
        spans = (Span(*match.span(group)) for group in groups)
        span = next((span for span in spans if span.start >= 0), None) or Span(*match.span())
        if rule.accept is None or rule.accept(data[span.start : span.end]):
            yield span


def find_by_head(
    take: Callable[[bytes, Span], Span | None],
) -> Callable[[bytes, Matcher], Iterator[Span]]:
    """Return a `find` function for a pattern that matches only the start of a secret.

    `take` returns the span of the whole secret, or None if there is no secret.
    """

    def find(data: bytes, heads: Matcher) -> Iterator[Span]:
        done = 0
        for match in heads.finditer(data):
            head = Span(*match.span())
            secret = take(data, head) if head.start >= done else None
            if secret is not None:
                done = secret.end
                yield secret

    return find


def outside_base64(data: bytes, found: Span) -> Span | None:
    """Return `found`, or None if it is a chance match.

    Chance matches occur in long base64 data and in repeated characters.
    """
    before = _BASE64_BEFORE.search(data, max(0, found.start - 80), found.start)
    after = _BASE64_AFTER.match(data, found.end)
    neighbours = sum(run.end() - run.start() for run in (before, after) if run)
    few = len(set(data[found.start + 4 : found.end])) < 6
    return None if neighbours >= 80 or few else found


class PatternSet:
    """Set of short patterns that are all searched for in one pass."""

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
        """Return the indexes of the patterns that match anywhere in `text`, in ascending order."""
        return sorted(self._set.Match(text) or ()) if self._any else ()


@functools.lru_cache(maxsize=8)
def pattern_set(patterns: tuple[str, ...]) -> PatternSet:
    """Return the set of some patterns, compiled once."""
    return PatternSet(patterns)
