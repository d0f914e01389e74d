"""Redaction rules, matchers that run in linear time, and heuristics for values."""

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

MIN_LENGTH = 8
"""Minimum length of a value that is recognized as a secret only by its context."""
NAME = (
    r"(?:pass(?:_?word|wd|_?phrase|code)|passwort|ps?wd?|(?:[_-]|user|db)pass|\bpass[_0-9]|secret|token|credential"
    r"|(?:\b|[_-])auth"
    r"|(?:api|access|auth|private|secret|signing|encryption|master|account|shared|service|app(?:lication)?"
    r"|deploy|license|webhook|storage|admin)[_-]?key)"
)
"""Words at the end of a name that mark its value as secret (case-insensitive)."""
ENDING = (
    r"(?:s|[_-]?(?:value|keys?|token|prod|production|dev|test|live|staging|old|new|base|base64"
    r"|b64|plain|[0-9]{1,3}))?_{0,2}"
)
PASSWORD = re.compile(rb"(?i)pass|ps?w")
"""Names of passwords, which look less random than tokens."""

FILLER = "\x01"
"""Replaces each character of a placeholder while rules search a text."""

_TEMPLATE = re.compile(
    r"\$?\{[^{}]*\}|%\(\w+\)[sdr]|%[sdr]|\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)(?![A-Za-z0-9])|\x01+"
)
_TEMPLATE_START = re.compile(r"[{%$\x01]")
_PATH = re.compile(r"(?:[./~]|[A-Za-z]:\\)[^+=]*[/\\][^+=]*")
_SLASH = re.compile(r"[/\\]")
_URL_OR_NUMBER = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:/|mailto:|data:|urn:|arn:)[^@\s]*"
    r"|[vV]?[\d.,:_+ TZ-]+(?:-?[a-z]{1,5}\d*)?|0[xX][0-9a-fA-F]{1,8}"
)
_PARTS = re.compile(r"[^A-Za-z0-9]+")
_PATTERN = re.compile(r"\[[^\]]+\][+*?{]|\(\?|\\[dwsb]")
_WORD = re.compile(r"[A-Za-z]*\d{0,3}|\d{1,4}[a-z]{0,2}|(?:[A-Z]+[a-z]*\d{1,2})+[A-Z][a-z]+")
_CHUNK = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_BLANK = re.compile(r"\s")
_LETTERS = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"\d")
_ODD = re.compile(r"[!@#$%^&*+=?~]")
_NEVER_IN_NAMES = re.compile(r"[!^*~]")
_MIN_DISTINCT = 4
_LONG_SEGMENT = 16
_MAX_JUDGED = 160  # maximum characters of a value that are checked; bounds the time

_LONG_WORD = 20


class Span(NamedTuple):
    """Byte offsets of a secret. The end is exclusive."""

    start: int
    end: int


class Finding(NamedTuple):
    """Byte offsets of a secret, and the name of the rule that found it."""

    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for one kind of secret."""

    name: str
    pattern: str
    """An RE2 pattern for bytes, in which each byte is one character. The secret is the first group
    that matched, or the whole match if no group did.
    """
    needs: str
    """A short pattern for a quick first test: if it does not match, `pattern` cannot match either.
    """
    accept: Callable[[bytes], bool] | None = None
    """May reject a match."""
    find: Callable[[bytes, "Matcher"], Iterator[Span]] | None = None
    """Yields secrets that a pattern cannot describe, from left to right."""


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


@functools.lru_cache(maxsize=8)
def pattern_set(patterns: tuple[str, ...]) -> Callable[[bytes], Sequence[int]]:
    """Return a function that searches for all patterns in one pass, compiled once.

    It returns the indexes of the patterns that match anywhere in a text, in ascending order.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    compiled = re2.Set.SearchSet(options)
    for pattern in patterns:
        compiled.Add(pattern.encode())
    if not patterns:
        return lambda _: ()
    compiled.Compile()
    return lambda text: sorted(compiled.Match(text) or ())


def without_templates(value: bytes) -> str:
    """Return the value without template parts such as `{name}`, `${NAME}` and `%s`, and without
    placeholders.
    """
    text = value.decode("latin-1")
    return (_TEMPLATE.sub("", text) if _TEMPLATE_START.search(text) else text).strip()


def has_mixed_characters(text: str) -> bool:
    """Return True if the text contains digits, lowercase and uppercase letters, as most random
    tokens do.
    """
    return bool(_DIGIT.search(text)) and text.lower() != text and text.upper() != text


def has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


def is_not_a_name(value: bytes) -> bool:
    """Return True if the value contains an uppercase letter or a digit after its prefix.

    This distinguishes a credential from a plain name.
    """
    rest = value.lstrip(b"MNOSG.")
    return rest != rest.lower() or has_digit(rest)


def has_random_letters(text: str) -> bool:
    """Return True if upper and lower case alternate more often than in words or camelCase."""
    if text.islower() or text.isupper():
        return False
    chunks = _CHUNK.findall(text)
    letters = sum(len(chunk) for chunk in chunks if chunk.isalpha())
    average = letters / max(len(chunks), 1)
    return letters >= MIN_LENGTH and average < (3.1 if letters >= _LONG_SEGMENT else 2.6)


def is_random_token(value: bytes) -> bool:
    """Return True if the value has mixed characters or random letters.

    Hex digests and ordinary names have neither.
    """
    text = value.decode("latin-1")
    return has_mixed_characters(text) or has_random_letters(text)


def is_fixed_text(text: str) -> bool:
    """Return True if the text is clearly not a secret.

    This includes paths, URLs without credentials, numbers, versions, dates and repeated characters.
    """
    return (
        len(set(text)) < _MIN_DISTINCT
        or _URL_OR_NUMBER.fullmatch(text) is not None
        or (_PATH.fullmatch(text) is not None and _is_readable_path(text))
    )


def _is_readable_path(path: str) -> bool:
    """Return True if no component of the path looks like a random token."""
    return not any(
        len(part) >= _LONG_SEGMENT and has_mixed_characters(part) for part in _SLASH.split(path)
    )


def looks_secret(value: bytes, *, password: bool, quoted: bool) -> bool:
    """Return True if a value looks like a secret rather than code or prose.

    The value must have been found after a name that indicates a secret. `password` means that
    people usually choose such values themselves. `quoted` means that the value is a literal.
    """
    text = without_templates(value)[:_MAX_JUDGED]
    if len(text) < MIN_LENGTH:
        return False
    if _BLANK.search(text):
        return any(
            len(word) >= 12 and has_mixed_characters(word) and not is_fixed_text(word)
            for word in text.split()
        )
    if is_fixed_text(text):
        return False
    if not _DIGIT.search(text):
        return _without_digits(text, password=password, quoted=quoted)
    return _with_digits(text, password=password, quoted=quoted)


def is_secret_value(name: str, value: bytes) -> bool:
    """Return True if the whole `value` is a secret. `name` is the key, field or flag that it
    belongs to.
    """
    password = PASSWORD.search(name.encode(errors="replace")) is not None
    return looks_secret(value, password=password, quoted=True)


def _with_digits(text: str, *, password: bool, quoted: bool) -> bool:
    odd = bool(_ODD.search(text))
    if not _LETTERS.search(text):
        return odd
    if password and quoted:
        return odd or not all(p.isalpha() or p.isdigit() for p in _PARTS.split(text) if p)
    if _PATTERN.search(text):
        return False
    if quoted and _NEVER_IN_NAMES.search(text):
        return True
    return _has_odd_part(text) if quoted or password else _alternates(text)


def _without_digits(text: str, *, password: bool, quoted: bool) -> bool:
    if has_random_letters(text):
        return True
    if quoted and password and _ODD.search(text[:-1]) and _LETTERS.search(text):
        return True
    return len(text) >= _LONG_WORD and quoted and text.isalpha() and _few_vowels(text)


def _few_vowels(text: str) -> bool:
    """Return True if the text has as few vowels as random letters.

    Vowels make up about 38% of the letters in English text, but only 23% of random letters.
    """
    return sum(c in "aeiouyAEIOUY" for c in text) / len(text) < 0.27


def _has_odd_part(text: str) -> bool:
    """Return True if any part is neither a number nor a word with an optional number at its end."""
    parts = _PARTS.split(text)
    return any(not _WORD.fullmatch(part) or has_random_letters(part) for part in parts if part)


def _alternates(text: str) -> bool:
    """Return True if letters and digits alternate more often than in identifiers."""
    if not _has_odd_part(text):
        return False
    chunks = _CHUNK.findall(text)
    digits = [chunk for chunk in chunks if chunk.isdigit()]
    average = sum(map(len, chunks)) / len(chunks)
    return average < 2.5 or len(digits) > 2 or max(map(len, digits)) > 3
