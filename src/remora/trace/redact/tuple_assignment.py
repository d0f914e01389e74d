"""Rule for secrets in assignments of several values: `user, password = "a", "b"`.

All literals of the value are judged, in lists, loops and wrappers such as `SecretStr("…")` too, if
any of the names tells: a rest that is replaced with a secret does less harm than a secret that is
kept. No byte is read twice, so the running time stays linear.
"""

import re
from collections.abc import Iterator

from remora.trace.redact.assignment import ENDING, NAME
from remora.trace.redact.heuristics import MIN_LENGTH, PASSWORD, looks_secret
from remora.trace.redact.rule import Matcher, Rule, Span

_BLANK = r"(?:[ \t\r\n]|\\+[rn\r\n])*"
_CONTINUED = r"(?:[ \t]|\\+[rn\r\n]\n?)*"
_NAMED = r"[a-z_\x80-\xff][a-z0-9_.\x80-\xff]*(?:\[[^\[\]\n]{0,60}\])?"
_SECRET = rf"(?:[a-z_][a-z0-9_.]*\[\\*[\"'])?[a-z0-9_.-]*{NAME}{ENDING}(?:\\*[\"']\])?"
_OPEN, _CLOSE = rf"(?:[*(\[]{_BLANK})*", rf"(?:{_BLANK}[)\]])*"
_TYPE = (
    r":[ \t]{0,4}\\*[\"']?[a-z_][a-z0-9_.| ]{0,40}(?:\[[^\n]{0,160}\])?[a-z0-9_.| ]{0,20}"
    r"\\*[\"']?[ \t]{0,4}"
)
_HEAD = (
    rf"(?i){_OPEN}(?:{_NAMED}{_CLOSE}{_BLANK},{_BLANK}{_OPEN})*{_SECRET}{_CLOSE}"
    rf"(?:{_BLANK},{_BLANK}{_OPEN}{_NAMED}{_CLOSE})*(?:{_BLANK},)?{_CLOSE}"
    rf"(?:{_CONTINUED}[:+|]?=|[ \t]+in\b)"
    rf"|(?i)({NAME}{ENDING})(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?:{_TYPE}=|:|=>)"
)
_NEED = rf"(?i){NAME}{ENDING}[\"'`\\\])]{{0,9}}[ \t]{{0,16}}(?:[,:=+|\r\n\\]|in\b)"
_SECRET_NAME = re.compile(rf"(?i).*{NAME}{ENDING}".encode())
_PUBLIC_NAME = re.compile(
    rf"(?i).*(?:next|page|continuation|cancellation|cursor|public_?key)[_-]?{NAME}{ENDING}".encode()
)
_TOKENS = re.compile(rb"(?i)\Atokens?\Z")
"""Names of a lexer's tables, whose many patterns are judged as code."""
_TARGETS = re.compile(rb"[A-Za-z_\x80-\xff][\w.\x80-\xff-]*(?:\[[^\[\]\n]*\])?")
_SUBSCRIPT = re.compile(rb"[\w.-]+(?=\\*[\"']?\]\Z)|\A[\w.-]+\Z")
_NEWLINE = re.compile(rb"\\++[rn\r\n]")
_MOST_TOKENS = 50_000  # of a value; bounds the time
_TOKEN = re.compile(
    rb"(?P<blank>(?:[ \t]|\\{1,8}+(?:[rn]|\r?\n)|\#(?:[^\n\\]++|\\++(?!r?n))*+)++)|(?P<line>\r?\n)"
    rb"|(?:[rbufRBUF]{1,2}+(?=\\*+[\"']))?(?:"
    rb"\"((?:[^\"\\\n]++|\\.)*+)\"|'((?:[^'\\\n]++|\\.)*+)'"
    rb"|\\++\"((?:[^\"\\\n]++|\\++(?!\"))*+)\\++\"|\\++'((?:[^'\\\n]++|\\++(?!'))*+)\\++')"
    rb"|(?P<open>(?:[\w.]*(?i:\b(?:field|secretstr|secretbytes|str|bytes|list|tuple"
    rb"|set|frozenset|dict))\("
    rb"(?:default(?:_factory)?[ \t]*=[ \t]*(?:lambda[ \t]*:)?)?)|\*{0,2}[(\[{])"
    rb"|(?P<close>[)\]}])|(?P<comma>,)"
    rb"|(?P<other>[^\s\"'\\()\[\]{},;#]++"
    rb"(?:[(\[](?:[^()\[\]{}\"'\\\n]|\"[^\"\\\n]*+\"|'[^'\\\n]*+'){0,200}+[)\]])*+)"
)


def _find(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the literals that look like secrets and are assigned to names that indicate them."""
    done = 0
    for match in heads.finditer(data):
        start, end = match.span()
        if start < done or data.startswith((b"=", b"\r\n", b"\n"), end):
            continue
        head = data[slice(*match.span(1))]
        is_single = bool(head)
        if not head:
            head = _NEWLINE.sub(b" ", data[start:end].removesuffix(b" in"))
            is_argument = sum(map(head.count, (b"(", b"["))) > sum(map(head.count, (b")", b"]")))
            is_single = is_argument or b"," not in head
        names = [_last_part(name) for name in _TARGETS.findall(head)]
        literals, done = _literals(data, end, is_single=is_single)
        yield from _secrets(data, names[-1:] if is_single else names, literals)


def _last_part(target: bytes) -> bytes:
    found = _SUBSCRIPT.search(target)
    return found[0] if found else target


def _literals(data: bytes, start: int, *, is_single: bool) -> tuple[list[Span], int]:
    """Return the string literals of the value that begins at `start`, and its end.

    It ends with its line or bracket, with a call that has calls as arguments, and for a single name
    with a comma.
    """
    found: list[Span] = []
    ends = ("close", "line", "comma") if is_single else ("close", "line")
    element, place, depth, may_open = (start, 0), start, 0, True
    for _ in range(_MOST_TOKENS):
        if (token := _TOKEN.match(data, place)) is None:
            break
        kind, word = token.lastgroup, token[0]
        if (kind == "open" and not may_open) or (not depth and kind in ends):
            break
        if not depth and element[0] > start and word[:1] == b"=":  # the next assignment
            return found[: element[1]], element[0]
        place = token.end()
        depth += (kind == "open") - (kind == "close")
        if kind is None:
            found.append(Span(*token.span(token.lastindex or 0)))
        if kind not in ("blank", "line"):
            is_between = word in (b"or", b"else") or word.endswith(b":")
            may_open = kind in ("open", "comma") or is_between
        if kind == "comma" and not depth:
            element = place, len(found)
    return found, place


def _secrets(data: bytes, names: list[bytes], literals: list[Span]) -> Iterator[Span]:
    telling = [
        name for name in names if _SECRET_NAME.fullmatch(name) and not _PUBLIC_NAME.fullmatch(name)
    ]
    if not telling:
        return
    password = any(map(PASSWORD.search, telling))
    quoted = len(literals) == 1 or not any(map(_TOKENS.search, telling))
    for span in literals:
        text = data[span.start : span.end]
        if len(text) >= MIN_LENGTH and looks_secret(text, password=password, quoted=quoted):
            yield span


TUPLE_ASSIGNMENT = Rule("assignment", _HEAD, needs=_NEED, find=_find)
