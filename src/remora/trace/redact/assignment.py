"""Rules for secrets in assignments.

`ASSIGNMENT` is for `password = "..."` or `API_KEY=...`, `TUPLE_ASSIGNMENT` for several values as in
`user, password = "a", "b"`, `TABLE_VALUE` for `parametrize("user, password", [("a", "b")])`, and
`BLOCK_VALUE` for the lines after `password: |`, `passwords:` or an opening triple quote. In a tuple, all literals are judged, in lists, loops and wrappers such as
`SecretStr("…")` too, if any of the names tells: a rest that is replaced with a secret does less harm
than a secret that is kept. No byte is read more than twice, so the running time stays linear.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, tee
from typing import NamedTuple

from remora.trace.redact.rule import (
    ENDING,
    MIN_LENGTH,
    NAME,
    PASSWORD,
    Match,
    Matcher,
    Rule,
    Span,
    looks_secret,
)

_WHITE = r"(?:[ \t\r\n]|\\+[rn\r\n])"
_LOOKUP = (
    rf"\b(?:get\w*|\w*env(?:iron)?|config|pop|setdefault|fetch)(?:\.[a-z]+)?\({_WHITE}{{0,80}}"
    rf"(?:[\w.]+,{_WHITE}{{1,80}})?(?:[a-z]+=)?[rbu]?\\*[\"']"
)
"""A call that reads a setting, such as `os.getenv("`, up to the name of the setting."""
_LOOKUP_BEFORE = re.compile(rf"(?i){_LOOKUP}[\w.-]*\Z".encode())
_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}"
    r"(?::[ \t]{0,4}[a-z_][a-z0-9_.\[\]| ]{0,40}=|:=|=>|[=!]=|=|:|,)"
)
_REACH = 1024  # bytes of a value that are checked before the rest is read; bounds the time
_BARE_REACH = 200
_BLANK = frozenset((b" ", b"\t", b"\r", b"\n", b"(", b"\\"))
_OPENERS = frozenset((b"'", b'"', b"`", b"\\", b" ", b"\t"))
_SUSPICIOUS = re.compile(rb"[0-9!@#$%^&*+?~]|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]{20}")
"""A cheap first test: a value without a match is not a secret."""

_PUBLIC = r"(?:next|page|continuation|cancellation|cursor|public_?key)[_-]?"
"""Text before a head such as `token` that makes it harmless: a list position, or a public key."""

_PUBLIC_BEFORE = re.compile(rf"(?i){_PUBLIC}\Z".encode())

_QUOTE_BEFORE_COMMA = re.compile(rb"[\"'][ \t]*,\Z")
_ENV_LINE = re.compile(rb"[A-Z0-9_]+=")
_BLANKS = re.compile(rb"[ \t]{0,16}+(?:\(?\\?\r?\n[ \t]{0,80}+(?=[\"'rRbBuU]))?")
_QUOTED = re.compile(
    rb"(?:[rRbBuUfF]{1,2}+(?=[\"']))?"
    rb"(?:(?:\"\"\"|\")((?:[^\"\\\n]++|\\.)*+)"
    rb"|(?:\'\'\'|')((?:[^'\\\n]++|\\.)*+)"
    rb"|`((?:[^`\\\n]++|\\.)*+)"
    rb"|\\++\"((?:[^\"\\\n]++|\\++(?!\"))*+)"
    rb"|\\++'((?:[^'\\\n]++|\\++(?!'))*+))"
)
_BARE = re.compile(rb"([^\x00\x02-\x20\"'`<>()\[\]{},;&|\\\x7f]++)")
_CALLED = re.compile(rb"[(\[]")
_ODD = re.compile(rb"[!?#@$~*%^+]")
_NOT_CODE = re.compile(rb"[?#@$~]|!(?!=)")
"""Characters that never join letters and digits in code."""

_END_OF_LINE = re.compile(rb"[ \t]*+(?:[\r\n#&\"'\x00\x1b]|\\n|\Z)")


def _find_values(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the value after each head if it looks like a secret.

    A long run of unquoted text may contain many heads. Only the first and the last are checked, so
    that the running time stays linear.
    """
    done = run_end = 0
    last: Span | None = None
    for match in heads.finditer(data):
        head = Span(*match.span())
        if last is not None and head.start >= run_end:
            yield from _last_value(data, last, done)
            last = None
        if head.start < done:
            continue
        if head.start < run_end and data[head.end : head.end + 1] not in _OPENERS:
            last = head
            continue
        value, run_end = _value(data, head)
        if value is not None:
            done = value.end
            yield value
    if last is not None:
        yield from _last_value(data, last, done)


def _last_value(data: bytes, head: Span, done: int) -> Iterator[Span]:
    value = _value(data, head)[0] if head.start >= done else None
    if value is not None:
        yield value


def _value(data: bytes, head: Span) -> tuple[Span | None, int]:
    """Return the secret after a head, and the end of the unquoted text that was checked.

    The secret is None if the value does not look like one.
    """
    comma = data[head.end - 1 : head.end] == b","
    is_listed = comma and not _QUOTE_BEFORE_COMMA.search(data, head.start, head.end)
    if is_listed or _PUBLIC_BEFORE.search(data, max(0, head.start - 16), head.start):
        return None, 0
    start = head.end
    if data[start : start + 1] in _BLANK:
        blanks = _BLANKS.match(data, start)
        start = blanks.end() if blanks else start
    if (found := _QUOTED.match(data, start, start + _REACH)) is not None:
        value = found[found.lastindex or 0]
        if len(value) < MIN_LENGTH or not _SUSPICIOUS.search(value):
            return None, 0
        before = max(0, head.start - 200), head.start
        is_value = not comma or _LOOKUP_BEFORE.search(data, *before) is not None
        password = PASSWORD.search(data, head.start, head.end) is not None
        is_secret = looks_secret(value, password=password, quoted=is_value)
        return (_to_the_end(found, _REACH) if is_secret else None), 0
    found = None if comma else _BARE.match(data, start, start + _BARE_REACH)
    if found is None:
        return None, 0
    is_secret = _is_bare_secret(data, head, found)
    return (_to_the_end(found, _BARE_REACH) if is_secret else None), found.end()


def _to_the_end(found: re.Match[bytes], reach: int) -> Span:
    """Return the span of the whole value, even if only its beginning was checked."""
    if found.end() == found.start() + reach:
        found = found.re.match(found.string, found.start()) or found
    return Span(*found.span(found.lastindex or 0))


def _is_bare_secret(data: bytes, head: Span, found: re.Match[bytes]) -> bool:
    """Return True if an unquoted value is a secret.

    Returns False for code, such as a call, an attribute or a comparison.
    """
    value = found[1].rstrip(b".:!?")
    if len(value) < MIN_LENGTH or not _SUSPICIOUS.search(value):
        return False
    compared = data[head.end - 2 : head.end] in (b"==", b"!=", b":=")
    if compared or _CALLED.match(data, found.end()):
        return False
    password = PASSWORD.search(data, head.start, head.end) is not None
    literal = _ENV_LINE.fullmatch(data, head.start, head.end) is not None
    if password and data[head.end - 1 : head.end] == b":":
        literal = literal or bool(_END_OF_LINE.match(data, found.end()) or _ODD.search(value))
    elif password:
        literal = literal or _NOT_CODE.search(value) is not None
    return looks_secret(value, password=password, quoted=literal)


ASSIGNMENT = Rule("assignment", _HEAD, needs=_HEAD, find=_find_values)

_OR = rf"[)\]]{_WHITE}+(?:or|if[ (][^\n:\"']{{0,60}}[ )]else)[ \t(]|[)\]]?{_WHITE}*(?:\|\||\?\?)"
_OPTION = r"(?:default|fallback)[ \t]{0,4}="
_DEFAULT_HEAD = rf"(?i){NAME}{ENDING}(?:\\*[\"'](?:[^)]{{0,160}}?[\s(,n]{_OPTION}|(?:,[^()]{{0,40}})?(?:{_OR}))|{_OR})"
_DEFAULT_NEED = rf"(?i){_OPTION}|[)\]]{_WHITE}+(?:or|if)[ \t(]|\|\||\?\?"
DEFAULT_VALUE = Rule("assignment", _DEFAULT_HEAD, needs=_DEFAULT_NEED, find=_find_values)
"""Defaults, as in `option("--token", default="…")` and `getenv("TOKEN") or "…"`."""


_CONTINUED = r"(?:[ \t]|\\+[rn\r\n]\n?)*"
_NAMED = r"[a-z_\x80-\xff][a-z0-9_.\x80-\xff]*(?:\[[^\[\]\n]{0,60}\])?"
_SECRET = rf"(?:[a-z_][a-z0-9_.]*\[\\*[\"'])?[a-z0-9_.-]*{NAME}{ENDING}(?:\\*[\"']\])?"
_TUPLE_OPEN, _TUPLE_CLOSE = rf"(?:[*(\[]{_WHITE}*)*", rf"(?:{_WHITE}*[)\]])*"
_TYPE = (
    r":[ \t]{0,4}\\*[\"']?[a-z_][a-z0-9_.| ]{0,40}(?:\[[^\n]{0,160}\])?[a-z0-9_.| ]{0,20}"
    r"\\*[\"']?[ \t]{0,4}"
)
_TUPLE_HEAD = (
    rf"(?i){_TUPLE_OPEN}(?:{_NAMED}{_TUPLE_CLOSE}{_WHITE}*,{_WHITE}*{_TUPLE_OPEN})*{_SECRET}{_TUPLE_CLOSE}"
    rf"(?:{_WHITE}*,{_WHITE}*{_TUPLE_OPEN}{_NAMED}{_TUPLE_CLOSE})*(?:{_WHITE}*,)?{_TUPLE_CLOSE}"
    rf"(?:{_CONTINUED}[:+|]?=|[ \t]+in\b)"
    rf"|(?i)({NAME}{ENDING})(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?:{_TYPE}=|:|=>)"
)
_TUPLE_NEED = rf"(?i){NAME}{ENDING}[\"'`\\\])]{{0,9}}[ \t]{{0,16}}(?:[,:=+|\r\n\\]|in\b)"
_SECRET_NAME = re.compile(rf"(?i).*{NAME}{ENDING}".encode())
_PUBLIC_NAME = re.compile(rf"(?i).*{_PUBLIC}{NAME}{ENDING}".encode())
_TOKENS = re.compile(rb"(?i)\Atokens?\Z")
"""Names of a lexer's tables, whose many patterns are judged as code."""
_TARGETS = re.compile(rb"[A-Za-z_\x80-\xff][\w.\x80-\xff-]*(?:\[[^\[\]\n]*\])?")
_SUBSCRIPT = re.compile(rb"[\w.-]+(?=\\*[\"']?\]\Z)|\A[\w.-]+\Z")
_NEWLINE = re.compile(rb"\\++[rn\r\n]")
_MOST_TOKENS = 50_000  # of a value; bounds the time
_ENDS = ("close", "line")
_ENDS_OF_ONE = (*_ENDS, "comma")
_TOKEN = re.compile(
    rb"(?P<blank>(?:[ \t]|\\{1,8}+(?:[rn]|\r?\n)|\#(?:[^\n\\]++|\\++(?!r?n))*+)++)|(?P<line>\r?\n)"
    rb"|(?:[rbufRBUF]{1,2}+(?=\\*+[\"']))?(?:"
    rb"\"((?:[^\"\\\n]++|\\.)*+)\"|'((?:[^'\\\n]++|\\.)*+)'"
    rb"|\\++\"((?:[^\"\\\n]++|\\++(?!\"))*+)\\++\"|\\++'((?:[^'\\\n]++|\\++(?!'))*+)\\++')"
    rb"|(?P<open>(?:[\w.]*(?i:\b(?:field|param|secretstr|secretbytes|str|bytes|list|tuple"
    rb"|set|frozenset|dict))\("
    rb"(?:default(?:_factory)?[ \t]*=[ \t]*(?:lambda[ \t]*:)?)?)|[\w.]*(?i:"
    + _LOOKUP.encode()
    + rb")[\w.-]*\\*[\"']|\*{0,2}[(\[{])"
    rb"|(?P<close>[)\]}])|(?P<comma>,)"
    rb"|(?P<other>[^\s\"'\\()\[\]{},;#]++"
    rb"(?:[(\[](?:[^()\[\]{}\"'\\\n]|\"[^\"\\\n]*+\"|'[^'\\\n]*+'){0,200}+[)\]])*+)"
)


def _find_in_tuples(data: bytes, heads: Matcher) -> Iterator[Span]:
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
        literals, done = _literals(data, end, _ENDS_OF_ONE if is_single else _ENDS)
        yield from _secrets(data, names[-1:] if is_single else names, literals)


def _last_part(target: bytes) -> bytes:
    found = _SUBSCRIPT.search(target)
    return found[0] if found else target


def _literals(data: bytes, start: int, ends: Collection[str]) -> tuple[list[Span], int]:
    """Return the string literals of the value that begins at `start`, and its end.

    It ends with a token of the kinds `ends`, and with a call that has calls as arguments.
    """
    found: list[Span] = []
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
    secret = filter(_SECRET_NAME.fullmatch, names)
    telling = [name for name in secret if not _PUBLIC_NAME.fullmatch(name)]
    if not telling:
        return
    password = any(map(PASSWORD.search, telling))
    quoted = len(literals) == 1 or not any(map(_TOKENS.search, telling))
    for span in literals:
        text = data[span.start : span.end]
        if len(text) >= MIN_LENGTH and looks_secret(text, password=password, quoted=quoted):
            yield span


TUPLE_ASSIGNMENT = Rule("assignment", _TUPLE_HEAD, needs=_TUPLE_NEED, find=_find_in_tuples)


_TABLE_HEAD = r"\bparametrize\("
_COLUMN = re.compile(rb"[\w.-]+")


def _find_in_tables(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the literals of test cases that look like secrets, if a column's name indicates them."""
    done = 0
    for match in heads.finditer(data):
        start, end = match.span()
        columns, comma = _literals(data, end, ("close", "comma")) if start >= done else ([], 0)
        names = [name for span in columns for name in _COLUMN.findall(data[slice(*span)])]
        if data.startswith(b",", comma) and any(map(_SECRET_NAME.fullmatch, names)):
            literals, done = _literals(data, comma + 1, ("close",))
            yield from _secrets(data, names, literals)


TABLE_VALUE = Rule("assignment", _TABLE_HEAD, needs=_TABLE_HEAD, find=_find_in_tables)


_LINE_END = r"[ \t]{0,8}\\{0,8}(?:\r?\n|r?\\{1,8}n)"
_COMMENT = r"(?:[ \t]+#[^\n\\]*)?"
_BLOCK_HEAD = (
    rf"(?i){NAME}{ENDING}(?:\\*[\"'`])?\]?[ \t]{{0,16}}(?:"
    r"(?::[ \t]{0,4}[a-z_][a-z0-9_.\[\]| ]{0,40}=|[:=])[ \t(]{0,8}"
    r"(?:[rbuf]{0,2}((?:\\{0,8}\"){3}|(?:\\{0,8}'){3})\\{0,8}"
    rf"|([|>])[+-]?[1-9]?[+-]?{_COMMENT})|:{_COMMENT}){_LINE_END}"
)
"""The first group is a triple quote, and the second one the start of a YAML block.

If neither matched, a YAML list or a value may follow.
"""
_BLOCK_END = re.compile(rb"(?:\\{0,8}+\"){3}|(?:\\{0,8}+'){3}")
_BREAK = re.compile(rb"\r?\n|(?<!\\)\\++(?:(?:r\\++)?n|\r?\n)")
"""The end of a line. Every head ends with one, so that no line contains more than one head."""
_SETTING = re.compile(rb"[A-Za-z_-]+[ \t]*[:=](?!=)|\[[^\]]*\]\Z")
"""Lines of a block to skip. `name: value` is checked under its name; `[section]` is not a value."""
_MARGIN = b" \t+-|>"
_DASH = re.compile(rb"[ \t+-]*-[ \t]+\Z")
_ITEM = re.compile(rb"(\\*[\"'])?([^\s\"'`<>()\[\]{},;&|\\]++)(?=[ \t]*(?:\\*[\"']|#|\Z))")
_WORD_BEFORE = re.compile(rb"(?<!\\)[^\s\\+-][ \t]+[\w.-]*\Z")
"""Text before a name in code or in a sentence, such as `if password:`."""


class _Line(NamedTuple):
    """A line without its margin of indentation and diff markers."""

    margin: bytes
    text: Span
    is_literal: bool = True
    """False if the text has no quotes and may be code."""


def _find_in_blocks(data: bytes, heads: Matcher) -> Iterator[Span]:
    """Yield the lines of each block that look like secrets."""
    done = 0
    matches, later = tee(heads.finditer(data))
    stops = chain((head.span()[0] for head in islice(later, 1, None)), [len(data)])
    for match, stop in zip(matches, stops, strict=False):
        start, end = match.span()
        if start < done:
            continue
        done = end
        for _, span, is_literal in _values(data, match, stop):
            done = span.end
            value = data[span.start : span.end]
            if len(value) < MIN_LENGTH or _SETTING.match(value):
                continue
            password = PASSWORD.search(data, start, end) is not None
            if looks_secret(value, password=password, quoted=is_literal or password):
                yield span


def _values(data: bytes, head: Match, stop: int) -> Iterable[_Line]:
    """Return what a head names. A list ends at the next head, `stop`, so it is read only once."""
    start, end = head.span()
    if head.span(1)[0] >= 0:
        quote = _BLOCK_END.search(data, end)
        return _lines(data, end, quote.start() if quote else len(data))
    if head.span(2)[0] >= 0:
        return _block(_lines(data, end, len(data)))
    if data[end : end + 1].isalnum():  # neither a list nor a margin
        return ()
    is_key = not _WORD_BEFORE.search(data[max(0, start - 40) : start])
    return _items(data, _lines(data, end, stop), is_key=is_key)


def _block(lines: Iterator[_Line]) -> Iterator[_Line]:
    """Yield the lines of a YAML block, which ends before a line with a smaller margin."""
    margin = None
    for line in lines:
        if margin is not None and (margin == 0 or len(line.margin) < margin):
            return
        margin = len(line.margin) if margin is None else margin
        yield line


def _items(data: bytes, lines: Iterator[_Line], *, is_key: bool) -> Iterator[_Line]:
    """Yield the texts of a YAML list, or the value in the line after a key.

    `is_key` is False if the head may be code or a sentence. Then only a list is read.
    """
    for line in lines:
        if data.startswith(b"#", line.text.start):
            continue
        is_item = _DASH.match(line.margin) is not None
        if not is_item and not (is_key and line.margin.endswith((b" ", b"\t"))):
            return
        if (item := _ITEM.match(data, *line.text)) is not None:
            yield _Line(line.margin, Span(*item.span(2)), is_literal=item[1] is not None)
        if not is_item:
            return
        is_key = False


def _lines(data: bytes, start: int, end: int) -> Iterator[_Line]:
    while start < end:
        found = _BREAK.search(data, start, end)
        stop = found.start() if found else end
        line = data[start:stop]
        if inner := line.strip(_MARGIN):
            first = line.index(inner)
            yield _Line(line[:first], Span(start + first, start + first + len(inner)))
        start = found.end() if found else end


BLOCK_VALUE = Rule("assignment", _BLOCK_HEAD, needs=_BLOCK_HEAD, find=_find_in_blocks)
