r"""Secrets that are recognized without being told: by format, by context, and in the environment.

The rules are rows of `secret_rules.txt`, whose first lines describe the columns, those for private keys
in PEM and PuTTY format, and those for assignments. A key may be truncated, encoded in Base64, or have
`\n` as line endings.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from remora.trace.redact.assignment import (
    ASSIGNMENT,
    BLOCK_VALUE,
    DEFAULT_VALUE,
    TABLE_VALUE,
    TUPLE_ASSIGNMENT,
)
from remora.trace.redact.rule import (
    ENDING,
    ESCAPE,
    MIN_LENGTH,
    NAME,
    Finding,
    Matcher,
    Rule,
    Span,
    compile_pattern,
    find_by_head,
    has_digit,
    has_mixed_characters,
    has_random_letters,
    is_fixed_text,
    is_not_a_name,
    is_random_token,
    looks_secret,
    outside_base64,
    without_templates,
)

_PARTS = {
    "{W}": "[A-Za-z0-9_-]",
    "{AN}": "[A-Za-z0-9]",
    "{UUID}": "{HEX}{8}(?:-{HEX}{4}){3}-{HEX}{12}",
    "{HEX}": "[0-9a-f]",
    "{START}": f"(?:^|[^A-Za-z0-9_]|{ESCAPE})",
    "{END}": "(?:[^A-Za-z0-9_]|$)",
    "{EDGE}": rf"(?:\b|{ESCAPE})",
    "{SECRET}": f"{NAME}{ENDING}",
    "{SECRET_WORD}": NAME,
}
_PORT = re.compile(r"\d{1,5}[/\\,]")
_STAND_IN = re.compile(
    r"(?:my|your)?[_-]?(?:pass(?:word|wd)?|pswd|pwd?|secret|token|user(?:name)?)"
    r"|guest|changeme|postgres|root|example|redacted|hidden|[x.*]*|[<\[].*"
)
_IN_BASE64 = "UFJJVkFU|RSBLRVkt|BSSVZBV|EUgS0VZ|QUklWQV|RFIEtFW"
"""Both halves of `PRIVATE KEY` in Base64, at each of three bytes. A line break splits only one."""
_COLUMNS = re.compile(" {2,}")
_ALONE = find_by_head(outside_base64)

_BETWEEN = rb"(?:[\s\"'\\,nr+>|#*]{0,120}+(?:-(?!-)[ \t]?)?(?:\d{1,6}[\t :|]++)?)"
_BODY = re.compile(
    rb"(?:" + _BETWEEN + rb"[A-Za-z-]{3,20}: [^\n\\\"]{0,120}+)*+"
    rb"(?:" + _BETWEEN + rb"[A-Za-z0-9+/=]{16,}+)++"
    rb"(?:" + _BETWEEN + rb"[A-Za-z0-9+/]{1,15}+(?:={1,2}|(?=" + _BETWEEN + rb"-----END )))?"
    rb"(?:" + _BETWEEN + rb"-----END [A-Z0-9 ]{0,40}-----)?"
)

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS(?:W|$|_|PHRASE|CODE)|PS?WD|(?:_|^)PS?W$|CREDENTIAL|AUTH(?!OR)|PRIVATE|COOKIE|DSN|WEBHOOK"
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
_MAX_OVERLAPS = 4
_RUN = re.compile(rb"[^\s\"'`<>]{0,256}")


def _block(data: bytes, head: Span) -> Span | None:
    """Return the span of the block that starts at the head. A truncated block is also accepted."""
    body = _BODY.match(data, head.end)
    return Span(head.start, body.end()) if body else None


_ENCODED = rb"[A-Za-z0-9+/_-]"
_ENCODED_BEFORE = re.compile(_ENCODED + rb"{0,400}\Z")
_ENCODED_LINES = re.compile(
    _ENCODED + rb"*+(?:" + _BETWEEN + _ENCODED + rb"{30,}+)*+"
    rb"(?:" + _BETWEEN + _ENCODED + rb"{1,29}+(?==))?={0,2}"
)
"""Base64 that may be wrapped in lines, which have at least 30 characters (decision)."""


def _encoded_key(data: bytes, head: Span) -> Span | None:
    """Return the span of the Base64 that names a private key, from the start of the line."""
    before = _ENCODED_BEFORE.search(data, max(0, head.start - 400), head.start)
    body = _ENCODED_LINES.match(data, head.end)
    return Span(before.start(), body.end()) if before and body else None


_PEM = Rule(
    "private-key",
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
    needs="PRIVATE KEY",
    find=find_by_head(_block),
)

_PEM_IN_BASE64 = Rule(
    "private-key",
    _IN_BASE64,
    needs=_IN_BASE64,
    find=find_by_head(_encoded_key),
)

_PUTTY = Rule(
    "private-key",
    r"Private-Lines: [0-9]{1,3}",
    needs="Private-Lines: [0-9]",
    find=find_by_head(_block),
)


def _is_not_a_stand_in(value: bytes) -> bool:
    """Return False for words and templates that documentation uses as placeholder passwords."""
    word = without_templates(value).lower()
    return len(word) > 2 and not _STAND_IN.fullmatch(word) and not _PORT.match(word)


def _is_basic(value: bytes) -> bool:
    """Return True if the value decodes to `user:password`."""
    try:
        return b":" in base64.b64decode(value + b"==")
    except binascii.Error:
        return False


_ACCEPT: dict[str, Callable[[bytes], bool]] = {
    "digit": has_digit,
    "not-a-name": is_not_a_name,
    "mixed": lambda value: has_mixed_characters(value.decode("latin-1")),
    "random": is_random_token,
    # not for a value that may be code
    "password": lambda value: looks_secret(value, password=True, quoted=True),
    "token": lambda value: looks_secret(value, password=False, quoted=True),
    "not-a-stand-in": _is_not_a_stand_in,
    "basic": _is_basic,
}


def _rows() -> Iterator[Rule]:
    text = Path(__file__).with_name("secret_rules.txt").read_text("utf-8")
    for part, meaning in _PARTS.items():
        text = text.replace(part, meaning)
    for row in text.splitlines():
        if row and not row.startswith("#"):
            yield _rule(*_COLUMNS.split(row))


def _rule(name: str, needs: str, pattern: str, check: str = "") -> Rule:
    if check == "alone":
        return Rule(name, pattern, needs, find=_ALONE)
    return Rule(name, pattern, needs, _ACCEPT[check] if check else None)


_OF_KEYS = (_PEM, _PEM_IN_BASE64, _PUTTY)
_OF_ASSIGNMENTS = (TUPLE_ASSIGNMENT, TABLE_VALUE, BLOCK_VALUE, DEFAULT_VALUE, ASSIGNMENT)
BUILTIN: tuple[Rule, ...] = (*_OF_KEYS, *_rows(), *_OF_ASSIGNMENTS)
"""Most specific first: if two rules find the same secret, the first is recorded."""


def environment_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from each secret value to its rule name, `env-NAME`.

    Each secret is included as is and in its escaped spellings. Secrets have at least 8 characters.
    Ordinary words, paths, numbers, switches, and URLs without credentials are not treated as
    secrets. Each line of a multi-line value is also checked separately.
    """
    found: dict[str, str] = {}
    for variable in sorted(environ):
        name = variable.upper()
        if not _SECRET_NAME.search(name) or _HARMLESS_NAME.fullmatch(name):
            continue
        rule = _rule_name(variable)
        for secret in _secrets(environ[variable]):
            for spelling in _spellings(secret):
                found.setdefault(spelling, rule)
    return found


def _rule_name(variable: str) -> str:
    """Return `env-` and the variable's name, restricted to the characters that a placeholder may
    contain.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", variable.lower()).strip("-")
    return f"env-{plain[:_LONGEST_NAME].rstrip('-') or 'unnamed'}"


def _is_ordinary(value: str) -> bool:
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
        if not _is_ordinary(in_url[1]):
            yield in_url[1]
        return
    lines = [line.strip() for line in stripped.splitlines()]
    if not _is_ordinary(stripped):
        yield stripped
    if len(lines) > 1:
        yield from (line for line in lines if not _is_ordinary(line))


def _spellings(secret: str) -> Iterator[str]:
    """Yield the secret as is, and as escaped in JSON strings and URLs."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="", errors="surrogateescape")


class KnownValues:
    """Known secret values and the names of their rules."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        encoded: dict[bytes, str] = {}
        for secret, rule in secrets.items():
            encoded.setdefault(secret.encode("utf-8", "surrogatepass"), rule)
            # the original bytes of a variable that is not UTF-8
            encoded.setdefault(secret.encode("utf-8", "surrogateescape"), rule)
        self._rules = encoded
        self.pattern = "|".join("".join(f"\\x{byte:02x}" for byte in value) for value in encoded)
        self._matcher: Matcher | None = None
        if encoded:
            self._matcher = compile_pattern(self.pattern, longest=True)

    def found(self, data: bytes) -> Iterator[Finding]:
        """Yield all occurrences from left to right.

        If several values start at the same offset, only the longest is used. If two values overlap,
        the finding is extended to the next blank or quote, so that no part of a secret remains.
        """
        match = self._search(data, 0)
        while match is not None:
            start, end = match
            rule = self._rules[data[start:end]]
            match, looks = self._search(data, start + 1), 0
            while match is not None and match.start < end:
                looks += 1
                if match.end > end or looks == _MAX_OVERLAPS:
                    run = _RUN.match(data, max(end, match.end))
                    end = run.end() if run else end
                    match = self._search(data, end)
                else:
                    match = self._search(data, match.start + 1)
            yield Finding(start, end, rule)

    def _search(self, data: bytes, at: int) -> Span | None:
        match = self._matcher.search(data, at) if self._matcher else None
        return Span(*match.span()) if match else None
