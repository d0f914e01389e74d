"""The rules that every stream is redacted by: one row per way in which a credential looks."""

import base64
import binascii
import re

from remora.trace.redact.assignment import ASSIGNMENT, ENDING, NAME
from remora.trace.redact.plausible import mixed, plausible, without_templates
from remora.trace.redact.private_key import PEM, PEM_IN_BASE64
from remora.trace.redact.rule import Rule, Span, by_head

_W = "[A-Za-z0-9_-]"
_AN = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"


def _chosen(value: bytes) -> bool:
    """A password somebody chose, where code cannot stand."""
    return plausible(value, password=True, quoted=True)


def _not_a_stand_in(value: bytes) -> bool:
    """Anything but the words and templates that documentation puts for a password."""
    word = without_templates(value).lower()
    return len(word) > 2 and not _STAND_IN.fullmatch(word) and not _PORT.match(word)


_PORT = re.compile(r"\d{1,5}[/\\,]")
_BASE64_AFTER = re.compile(rb"[A-Za-z0-9+/]{0,80}")
_BASE64_BEFORE = re.compile(rb"[A-Za-z0-9+/]{0,80}\Z")
_STAND_IN = re.compile(
    r"(?:my|your)?[_-]?(?:pass(?:word|wd)?|pswd|pwd?|secret|token|user(?:name)?)"
    r"|guest|changeme|postgres|root|example|redacted|hidden|[x.*]*|[<\[].*"
)


def _has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


def _outside_base64(data: bytes, found: Span) -> Span | None:
    """The match, unless it is a chance find in a picture's base64 or in a row of bases."""
    before = _BASE64_BEFORE.search(data, max(0, found.start - 80), found.start)
    after = _BASE64_AFTER.match(data, found.end)
    around = sum(run.end() - run.start() for run in (before, after) if run)
    few = len(set(data[found.start + 4 : found.end])) < 6
    return None if around >= 80 or few else found


def _is_basic(value: bytes) -> bool:
    """Decodes to `user:password`."""
    try:
        return b":" in base64.b64decode(value + b"==")
    except binascii.Error:
        return False


_KNOWN_BY_SHAPE = (
    PEM,
    PEM_IN_BASE64,
    Rule(
        "aws-access-key",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]",
        find=by_head(_outside_base64),
    ),
    Rule(
        "aws-secret-key",
        r"(?i)(?:secret[_-]?(?:access)?[_-]?key|aws[_-]?secret)[^\n]{0,24}?([A-Za-z0-9/+]{40})",
        "(?i)secret[_-]?(?:access)?[_-]?key|aws[_-]?secret",
        accept=mixed,
    ),
    Rule(
        "aws-secret-key",
        r"A(?:KIA|SIA)[A-Z0-9]{16}[\s,:;|\"'\\]{1,8}([A-Za-z0-9/+]{40})",
        "A(?:KIA|SIA)",
    ),
    Rule("github-token", f"gh[pousr]_{_AN}{{36,}}", "gh[pousr]_"),
    Rule("github-token", "github_pat_[A-Za-z0-9_]{22,}", "github_pat_"),
    Rule("gitlab-token", f"gl[a-z]{{2,5}}-{_W}{{20,}}", "gl[a-z]{2,5}-", accept=mixed),
    Rule(
        "slack-token",
        "xox[abceoprs](?:\\.xox[a-z])?-[A-Za-z0-9-]{10,}",
        "xox[abceoprs]",
        _has_digit,
    ),
    Rule("slack-token", "xapp-[0-9]-[A-Za-z0-9-]{20,}", "xapp-"),
    Rule(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})",
        "hooks.slack.com",
    ),
    Rule("discord-webhook", rf"/api/webhooks/[0-9]+/({_W}{{40,}})", "/api/webhooks/"),
    Rule("stripe-key", f"[sr]k_(?:live|test)_{_AN}{{16,}}", "[sr]k_(?:live|test)_"),
    Rule("stripe-key", "whsec_[A-Za-z0-9+/=]{24,}", "whsec_"),
    Rule("google-api-key", f"AIza{_W}{{35}}", "AIza", find=by_head(_outside_base64)),
    Rule("google-oauth", rf"ya29\.{_W}{{20,}}", r"ya29\."),
    Rule("google-oauth", f"GOCSPX-{_W}{{20,}}", "GOCSPX-"),
    Rule("anthropic-key", f"sk-ant-{_W}{{20,}}", "sk-ant-"),
    Rule(
        "openai-key",
        f"(?:^|[^A-Za-z0-9])(sk-(?:proj-|svcacct-|admin-|None-)?{_W}{{20,}})",
        "sk-",
        accept=mixed,
    ),
    Rule("huggingface-token", f"(?:hf|api_org)_{_AN}{{30,}}", "(?:hf|api_org)_", accept=mixed),
    Rule("npm-token", f"npm_{_AN}{{36,}}", "npm_"),
    Rule("pypi-token", f"pypi-{_W}{{50,}}", "pypi-"),
    Rule("sendgrid-key", rf"SG\.{_W}{{16,}}\.{_W}{{16,}}", r"SG\.", accept=mixed),
    Rule("twilio-key", f"SK{_HEX}{{32}}", "SK[0-9a-f]{4}"),
    Rule("mailgun-key", f"key-{_HEX}{{32}}", "key-[0-9a-f]{4}"),
    Rule("telegram-token", f"[0-9]{{8,10}}:AA{_W}{{32,}}", ":AA"),
    Rule(
        "discord-token",
        rf"[MNO]{_W}{{22,28}}\.{_W}{{6}}\.{_W}{{27,}}",
        rf"\.{_W}{{6}}\.{_W}{{9}}",
        accept=mixed,
    ),
    Rule("jwt", rf"eyJ{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*)+", "eyJ"),
    Rule("digitalocean-token", f"do[opr]_v1_{_HEX}{{32,}}", "do[opr]_v1_"),
    Rule("databricks-token", f"dapi{_HEX}{{32}}(?:-[0-9])?", "dapi[0-9a-f]{4}"),
    Rule("shopify-token", "shp[a-z]{2}_[a-fA-F0-9]{32}", "shp[a-z]{2}_"),
    Rule("age-secret-key", "AGE-SECRET-KEY-1[A-Z0-9]{40,}", "AGE-SECRET-KEY-1"),
    Rule("vault-token", rf"hv[sbr]\.{_W}{{20,}}", r"hv[sbr]\.", accept=mixed),
)

_KNOWN_BY_PLACE = (
    Rule(
        "basic-auth",
        r"://[^\s/:@\"'<>]*:([^\s\"'`<>]+)@",
        r"://[^\s/:@\"'<>]*:[^\s\"'`<>]+@",
        accept=_not_a_stand_in,
    ),
    Rule(
        "authorization",
        r"(?i)(?:authorization|x-api-key|x-auth-token)[\"'\\]{0,4}[ \t]*[:=,][ \t]*[\"'\\]{0,4}"
        r"(?:[a-z]{3,12}[ \t]+)?([A-Za-z0-9._~+/=:\x01-]{8,})",
        r"(?i)(?:authorization|x-api-key|x-auth-token)[\"'\\]{0,4}[ \t]*[:=,]",
        accept=lambda value: plausible(value, password=False, quoted=True),
    ),
    Rule(
        "authorization",
        r"(?i)\bbearer[ \t]+([A-Za-z0-9._~+/=\x01-]{16,})",
        r"(?i)bearer[ \t]+[A-Za-z0-9._~+/=\x01-]{8}",
        accept=mixed,
    ),
    Rule(
        "authorization",
        r"(?i)\bbasic[ \t]+([A-Za-z0-9+/]{8,}={0,2})",
        r"(?i)basic[ \t]+[A-Za-z0-9+/]{8}",
        accept=_is_basic,
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
        accept=_not_a_stand_in,
    ),
    Rule(
        "cookie",
        r"(?i)(?:session(?:[_-]?id|[_-]?token)?|connect\.sid|csrftoken|remember[_-]?token)"
        r"=([^\s;,\"'&<>()\[\]{}\\]{16,})",
        r"(?i)(?:session(?:[_-]?id|[_-]?token)?|sid|token)=[^\s;]{8}",
        accept=lambda value: plausible(value, password=False, quoted=True),
    ),
    Rule(
        "assignment",
        rf"(?i)--[a-z-]{{0,24}}{NAME}{ENDING}[ \t]{{1,4}}[\"']?([^\s\"'<>\\]{{8,}})",
        "(?i)--[a-z-]*(?:pass|pwd|secret|token|key|auth|cred)",
        accept=_chosen,
    ),
    Rule(
        "assignment",
        rf"(?i)<[a-z0-9:_.-]{{0,40}}{NAME}{ENDING}(?:[ \t][^<>]{{0,80}})?>([^<>\s]{{8,}})</",
        rf"(?i)<[a-z0-9:_.-]{{0,40}}{NAME}",
        accept=_chosen,
    ),
    Rule(
        "assignment",
        rf"(?i)name[\"']?[ \t]*[:=][ \t]*[\"']?[a-z0-9_.-]{{0,40}}{NAME}{ENDING}[\"']?,?\s{{1,40}}"
        r"[\"']?value[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"',}\\]{8,})",
        r"(?i)\s[\"']?value[\"']?[ \t]*[:=]",
        accept=_chosen,
    ),
    ASSIGNMENT,
)

BUILTIN: tuple[Rule, ...] = _KNOWN_BY_SHAPE + _KNOWN_BY_PLACE
"""Most telling first: where two rules find the same secret, the earlier one names it."""
