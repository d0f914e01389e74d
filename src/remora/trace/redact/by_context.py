"""Rules for credentials that are recognized by their context: URLs, headers, options and names."""

import base64
import binascii
import re

from remora.trace.redact.assignment import ASSIGNMENT, ENDING, NAME
from remora.trace.redact.block_values import BLOCK_VALUE
from remora.trace.redact.heuristics import is_random_token, looks_secret, without_templates
from remora.trace.redact.rule import ESCAPE, Rule
from remora.trace.redact.tuple_assignment import TUPLE_ASSIGNMENT

_PORT = re.compile(r"\d{1,5}[/\\,]")
_STAND_IN = re.compile(
    r"(?:my|your)?[_-]?(?:pass(?:word|wd)?|pswd|pwd?|secret|token|user(?:name)?)"
    r"|guest|changeme|postgres|root|example|redacted|hidden|[x.*]*|[<\[].*"
)


def _is_password(value: bytes) -> bool:
    """Return True if a value looks like a password.

    Must not be used where the value may be code.
    """
    return looks_secret(value, password=True, quoted=True)


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


BY_CONTEXT: tuple[Rule, ...] = (
    Rule(
        "basic-auth",
        r"://[^\s/:@\"'<>]*:([^\s\"'`<>]+)@",
        r"://[^\s/:@\"'<>]*:[^\s\"'`<>]+@",
        accept=_is_not_a_stand_in,
    ),
    Rule(
        "basic-auth",
        r"://([A-Za-z0-9_-]{20,})(?::x-oauth-basic)?@",
        r"://[A-Za-z0-9_-]{20,}(?::x-oauth-basic)?@",
        accept=is_random_token,
    ),
    Rule(
        "basic-auth",
        r"\s(?:-u|--user)[ =]?[\"']?[A-Za-z0-9_.@-]+:([^\s\"'\\]{8,})",
        r"\s(?:-u|--user)[ =]?[\"']?[A-Za-z0-9_.@-]+:",
        accept=_is_password,
    ),
    Rule(
        "basic-auth",
        r"\"auth\\*\"[ \t]*:[ \t]*\\*\"([A-Za-z0-9+/\x01]{8,}={0,2})",
        r"\"auth\\*\"[ \t]*:",
        accept=_is_basic,
    ),
    Rule(
        "authorization",
        r"(?i)(?:authorization|x-api-key|x-auth-token)[\"'\\]{0,4}[ \t]*[:=,][ \t]*[\"'\\]{0,4}"
        r"(?:[a-z]{3,12}[ \t]+)?([A-Za-z0-9._~+/=:\x01-]{8,})",
        r"(?i)(?:authorization|x-api-key|x-auth-token)[\"'\\]{0,4}[ \t]*[:=,]",
        accept=lambda value: looks_secret(value, password=False, quoted=True),
    ),
    Rule(
        "authorization",
        rf"(?i)(?:\b|{ESCAPE})bearer[ \t]+([A-Za-z0-9._~+/=\x01-]{{16,}})",
        r"(?i)bearer[ \t]+[A-Za-z0-9._~+/=\x01-]{8}",
        accept=is_random_token,
    ),
    Rule(
        "authorization",
        rf"(?i)(?:\b|{ESCAPE})basic[ \t]+([A-Za-z0-9+/]{{8,}}={{0,2}})",
        r"(?i)basic[ \t]+[A-Za-z0-9+/]{8}",
        accept=_is_basic,
    ),
    Rule(
        "private-key",
        r"\"d\\*\"[ \t]*:[ \t]*\\*\"([A-Za-z0-9_\x01-]{40,})",
        r"\"d\\*\"[ \t]*:",
        accept=is_random_token,
    ),
    Rule(
        "azure-key",
        r"(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/\x01]{32,}={0,2})",
        "(?i)accountkey|sharedaccesskey",
    ),
    Rule("azure-sas", r"[?&;]sig=([A-Za-z0-9%+/=_-]{20,})", "sig="),
    Rule(
        "connection-string",
        r"(?i);[ \t]{0,4}(?:password|pwd)[ \t]{0,4}=[ \t]{0,4}([^;\"'\s(){}\\]{4,})",
        r"(?i);[ \t]{0,4}(?:password|pwd)[ \t]{0,4}=",
        accept=_is_not_a_stand_in,
    ),
    Rule(
        "cookie",
        r"(?i)(?:session(?:[_-]?id|[_-]?token)?|connect\.sid|csrftoken|remember[_-]?token)"
        r"=([^\s;,\"'&<>()\[\]{}\\]{16,})",
        r"(?i)(?:session(?:[_-]?id|[_-]?token)?|sid|token)=[^\s;]{8}",
        accept=lambda value: looks_secret(value, password=False, quoted=True),
    ),
    Rule(
        "assignment",
        rf"(?i)--[a-z_-]{{0,24}}{NAME}{ENDING}[ \t]{{1,4}}[\"']?([^\s\"'<>\\]{{8,}})",
        "(?i)--[a-z_-]*(?:pass|pwd|secret|token|key|auth|cred)",
        accept=_is_password,
    ),
    Rule(
        "assignment",
        rf"(?i)<[a-z0-9:_.-]{{0,40}}{NAME}{ENDING}(?:[ \t][^<>]{{0,80}})?>([^<>\s]{{8,}})</",
        rf"(?i)<[a-z0-9:_.-]{{0,40}}{NAME}",
        accept=_is_password,
    ),
    Rule(
        "assignment",
        rf"(?i)name[\"']?[ \t]*[:=][ \t]*[\"']?[a-z0-9_.-]{{0,40}}{NAME}{ENDING}[\"']?,?\s{{1,40}}"
        r"[\"']?value[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"',}\\]{8,})",
        r"(?i)\s[\"']?value[\"']?[ \t]*[:=]",
        accept=_is_password,
    ),
    Rule(
        "assignment",
        r"(?i)(?:identified[ \t]+by|with[ \t]+password|password)[ \t]+\\{0,4}'([^'\n\\]{8,})\\{0,4}'",
        r"(?i)(?:identified[ \t]+by|password)[ \t]+\\{0,4}'",
        accept=_is_password,
    ),
    Rule(
        "assignment",
        r"(?i)login[ \t]+\S+\s+password[ \t]+([^\s\"'\\]{4,})",
        r"(?i)login[ \t]+\S+\s+password[ \t]",
        accept=_is_not_a_stand_in,
    ),
    Rule(
        "assignment",
        rf"(?:\b|{ESCAPE})mysql[a-z]*[ \t][^\n]{{0,200}}?[ \t]-p([^\s\"'\\]{{8,}})",
        r"mysql[a-z]*[ \t][^\n]{0,200}?[ \t]-p[^\s]",
        accept=_is_password,
    ),
    TUPLE_ASSIGNMENT,
    BLOCK_VALUE,
    ASSIGNMENT,
)
