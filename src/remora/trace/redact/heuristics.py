"""Heuristics that determine whether a value looks like a secret."""

import re

MIN_LENGTH = 8
"""Minimum length of a value that is recognized as a secret only by its context."""
PASSWORD = re.compile(rb"(?i)pass|pwd")
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
