"""Secrets in Remora's environment, which are found by the names of their variables."""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from remora.trace.redact.heuristics import MIN_LENGTH, has_random_letters, is_fixed_text

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS(?:W|$|_|PHRASE)|PWD|CREDENTIAL|AUTH(?!OR)|PRIVATE|COOKIE|DSN|WEBHOOK"
    r"|CONNECTION_?STR|SIGNATURE|(?:DATABASE|DB|REDIS|MONGO|AMQP|BROKER)\w*_UR[IL]"
)
_HARMLESS_NAME = re.compile(r"(?:OLD)?PWD|.*(?:KEYBOARD|KEYMAP|MONKEY|HOTKEY|KEYRING|AUTH_SOCK).*")
_WORD = re.compile(r"[A-Z]{1,16}|\d{1,4}|[^\W\d_]?[^\W\d_A-Z]{0,15}")
_DIGIT = re.compile(r"\d")
_ODD = re.compile(r"[!#$%^&*?~+=]|@(?![\w-]+\.\w)")
_GAPS = re.compile(r"[\W_]+")
_HEADER = re.compile(r"-----[A-Z0-9 ]+-----")
_PASSWORD_IN_URL = re.compile(r"[A-Za-z][\w+.-]*://[^\s/:@]*:([^\s/]+)@.*", re.DOTALL)
_LONGEST_NAME = 40


def environment_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from each secret value to its rule name, `env-NAME`.

    Each secret is included as is and in its escaped spellings. Secrets have at least 8 characters.
    Ordinary words, paths, numbers, switches, and URLs without credentials are not treated as
    secrets. Each line of a multi-line value is also checked separately.
    """
    found: dict[str, str] = {}
    for variable in sorted(environ):
        if not is_secret_name(variable):
            continue
        rule = rule_name(variable)
        for secret in _secrets(environ[variable]):
            for spelling in _spellings(secret):
                found.setdefault(spelling, rule)
    return found


def is_secret_name(variable: str) -> bool:
    name = variable.upper()
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.fullmatch(name)


def rule_name(variable: str) -> str:
    """Return `env-` and the variable's name, restricted to the characters that a placeholder may
    contain.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", variable.lower()).strip("-")
    return f"env-{plain[:_LONGEST_NAME].rstrip('-') or 'unnamed'}"


def is_ordinary(value: str) -> bool:
    """Return True if the value is ordinary text rather than a secret."""
    if len(value) < MIN_LENGTH or _HEADER.fullmatch(value):
        return True
    if has_random_letters(value):
        return False
    if is_fixed_text(value):
        return True
    if _DIGIT.search(value) and (_ODD.search(value) or not value.isascii()):
        return False
    return all(_WORD.fullmatch(word) for word in _GAPS.split(value))


def _secrets(value: str) -> Iterator[str]:
    stripped = value.strip()
    if in_url := _PASSWORD_IN_URL.fullmatch(stripped):
        yield stripped
        if not is_ordinary(in_url[1]):
            yield in_url[1]
        return
    lines = [line.strip() for line in stripped.splitlines()]
    if not is_ordinary(stripped):
        yield stripped
    if len(lines) > 1:
        yield from (line for line in lines if not is_ordinary(line))


def _spellings(secret: str) -> Iterator[str]:
    """Yield the secret as is, and as escaped in JSON strings and URLs."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="", errors="surrogateescape")
