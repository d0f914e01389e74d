"""Redaction of everything that is recorded."""

import hashlib
import hmac
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from remora.trace.redact.assignment import ASSIGNMENT, is_secret_value
from remora.trace.redact.builtin_rules import BUILTIN, KnownValues, environment_secrets
from remora.trace.redact.nested_values import is_header, redact_nested
from remora.trace.redact.rule import (
    FILLER,
    MIN_LENGTH,
    Finding,
    Match,
    Rule,
    Span,
    UserRule,
    compile_pattern,
    compile_user_rule,
    find_secrets,
    pattern_set,
)

VERSION = "redact/1"
"""Version of the built-in rules; raise it whenever the matches of a rule change."""
_T = TypeVar("_T")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MARKS = re.compile(rb"<secret:([a-z0-9-]+):[0-9a-f]{12}>")
_MARK = b"<secret:"
_PASSES = 8
_TANGLED = "tangled"

_WORD = "[A-Za-z0-9_+/=~.:@!-]"
_HEX = "((?:2[1bdefBDEF]|3[0-9adAD]|4[0-9a-fA-F]|5[0-9afAF]|6[1-9a-fA-F]|7[0-9aeAE]))"
"""A token character in hexadecimal."""
_ESCAPES = compile_pattern(
    rf"\\+(?:x{_HEX}|u00{_HEX}|u\{{0{{0,4}}{_HEX}\}}|U000000{_HEX}|([01][0-7]{{2}})|/)"
    rf"|{_WORD}\\+\r?\n{_WORD}|{_WORD}(?:\\{{3}}|\\{{6,8}})n{_WORD}"
)
r"""Hexadecimal and octal escapes, JSON's `\/`, and line continuations within a word."""
_OCTAL = 5
_IS_WORD = re.compile(_WORD.encode())

_MIN_REMAINDER = 4


class _Unescaped(NamedTuple):
    """Text in which escape sequences were replaced.

    For positions up to `at[i]`, the offset in the original text is `longer[i]` bytes larger.
    """

    data: bytes
    at: list[int]
    longer: list[int]

    def originals(self, findings: Iterable[Finding]) -> list[Finding]:
        """Convert findings in `data` to offsets in the original text."""
        return [
            Finding(start + self._shift(start), end + self._shift(end), rule)
            for start, end, rule in findings
        ]

    def _shift(self, place: int) -> int:
        return self.longer[bisect_left(self.at, place)]


class Redactor:
    """Applies all redaction rules. Instances are immutable, so threads may share them.

    `key` is specific to the installation. Without the key, a guessed secret cannot be
    checked against a placeholder. `environ` contains environment variables. The value of a variable
    is a secret if the variable's name indicates one. Raises ValueError if a user rule is invalid.
    """

    def __init__(
        self,
        key: bytes,
        rules: Sequence[Rule] = BUILTIN,
        environ: Mapping[str, str] = _NOTHING,
        own: Sequence[UserRule] = (),
    ) -> None:
        self._mark = partial(placeholder, key)
        self._rules = rules
        self._user_rules = [(rule.name, *compile_user_rule(rule)) for rule in own]
        names = {_TANGLED, *(rule.name for rule in rules), *(rule.name for rule in own)}
        known = environment_secrets(environ)
        self._names = frozenset(names | set(known.values()))
        fixed = "".join(f"<secret:{name}:" for name in sorted(self._names)) + "<secret:"
        secrets = {secret: name for secret, name in known.items() if secret not in fixed}
        self._literals = KnownValues(secrets)
        needs = [rule.needs for rule in rules]
        self._needs = pattern_set((*needs, *([self._literals.pattern] if secrets else [])))
        self.version = _version(rules, own, sorted(set(secrets.values())))

    def text(self, text: str, under: str = "") -> str:
        """Return `text` with secrets redacted. Return the same object if there are none.

        `under` is the name of the key or field that contains the text, if that name indicates a
        secret.
        """
        if len(text) < MIN_LENGTH and not self._user_rules:
            return text
        head = f"{under}: ".encode() if under and is_header(under) else b""
        data = head + text.encode("utf-8", "surrogatepass")
        clean = self._clean(data, text=True, under="" if head else under)
        return text if clean is data else clean[len(head) :].decode("utf-8", "surrogatepass")

    def lines(self, texts: Sequence[str]) -> Sequence[str]:
        """Redact secrets that continue from one text to the next, such as a private key in lines.

        Returns the same object if there are none.
        """
        data = "\n".join(texts).encode("utf-8", "surrogatepass")
        clean = self._clean(data, text=True, by_line=True)
        if clean is data:
            return texts
        lines = iter(clean.decode("utf-8", "surrogatepass").split("\n"))
        return ["\n".join(islice(lines, text.count("\n") + 1)) for text in texts]

    def may_contain_secret(self, text: str) -> bool:
        """Return False if `text` cannot contain a secret. This check is cheap."""
        data = text.encode("utf-8", "surrogatepass")
        if self._user_rules or self._needs(data):
            return True
        plain = _unescape(data)
        return plain is not None and bool(self._needs(plain.data))

    def lines_with_secrets(self, text: str) -> list[int]:
        """Return the numbers of the lines that contain a secret, by themselves or in the text."""
        if not self.may_contain_secret(text):
            return []
        data = text.encode("utf-8", "surrogatepass")
        ends = [match.start() for match in re.finditer(b"\n", data)]
        within: set[int] = set()
        for finding in self._findings(data, ""):
            within.update(
                range(bisect_left(ends, finding.start), bisect_left(ends, finding.end) + 1)
            )
        lines = enumerate(text.split("\n"))
        return [
            number + 1 for number, line in lines if number in within or self.text(line) is not line
        ]

    def data(self, data: bytes, under: str = "") -> bytes:
        """Return `data`, in any ASCII-compatible encoding, with secrets redacted as in `text`."""
        return self._clean(data, text=False, under=under)

    def clean(self, value: _T) -> _T:
        """Redact `value` at any depth, including keys. Return the same object if it contains no
        secrets.
        """
        return redact_nested(value, self)

    def _clean(self, data: bytes, *, text: bool, under: str = "", by_line: bool = False) -> bytes:
        """Redact repeatedly until no secrets are found. After 8 passes, replace the whole text.

        With `by_line`, all newlines are kept.
        """
        for _ in range(_PASSES):
            if not (findings := self._findings(data, under)):
                return data
            if text:
                findings = [_widen_to_characters(data, finding) for finding in findings]
            if by_line:
                findings = list(_split_at_lines(data, findings))
            data = _replace_findings(data, findings, self._mark)
        return b"\n".join(self._mark(_TANGLED, part) for part in data.split(b"\n"))

    def _findings(self, data: bytes, under: str) -> list[Finding]:
        matching = self._needs(data)
        if not (matching or under or self._user_rules or b"\\" in data):
            return []
        shields, masked = self._shields(data)
        findings = [*self._by_own(masked), *self._by_rules(masked, matching)]
        if under and is_secret_value(under, masked):
            findings.append(Finding(0, len(data), ASSIGNMENT.name))
        literal = self._find_known_values(data, matching)
        if (plain := _unescape(masked)) is not None:
            matching = self._needs(plain.data)
            findings += plain.originals(self._by_rules(plain.data, matching))
            literal += plain.originals(self._find_known_values(plain.data, matching))
        return [
            *_outside_placeholders(findings, shields),
            *_outside_placeholders(literal, shields, inside_too=True),
        ]

    def _find_known_values(self, data: bytes, matching: Sequence[int]) -> list[Finding]:
        is_met = matching and matching[-1] == len(self._rules)
        return list(self._literals.found(data)) if is_met else []

    def _shields(self, data: bytes) -> tuple[list[Span], bytes]:
        """Return the spans of placeholders, and the text with the placeholders masked.

        If a placeholder contains an unknown rule name, the name is not masked.
        """
        if _MARK not in data:
            return [], data
        shields, hidden = [], []
        for mark in _MARKS.finditer(data):
            if mark[1].decode() in self._names:
                shields.append(Span(*mark.span()))
                hidden.append(Span(*mark.span()))
            else:
                hidden += (Span(mark.start(), mark.start(1)), Span(mark.end(1), mark.end()))
        return shields, _mask(data, hidden)

    def _by_own(self, data: bytes) -> Iterator[Finding]:
        for name, matcher, group in self._user_rules:
            for match in matcher.finditer(data):
                start, end = match.span(group)
                if end > start:
                    yield Finding(start, end, name)

    def _by_rules(self, data: bytes, matching: Sequence[int]) -> Iterator[Finding]:
        for position in matching:
            if position < len(self._rules):
                rule = self._rules[position]
                # compiled on first use: most rules never match
                matcher = compile_pattern(rule.pattern)
                for start, end in find_secrets(rule, matcher, data):
                    yield Finding(start, end, rule.name)


def _version(rules: Sequence[Rule], own: Sequence[UserRule], variables: list[str]) -> str:
    """Return the version of the active rules.

    It depends on the names of environment variables, but not on their values.
    """
    if rules is BUILTIN and not own and not variables:
        return VERSION
    parts = [(rule.name, rule.pattern) for rule in own]
    if rules is not BUILTIN:
        parts += [(rule.name, rule.pattern) for rule in rules]
    digest = hashlib.sha256(repr((parts, variables)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{VERSION}+{digest[:8]}"


def placeholder(key: bytes, rule: str, secret: bytes) -> bytes:
    """Return `<secret:RULE:FINGERPRINT>`.

    The fingerprint depends only on the secret and the key.
    """
    fingerprint = hmac.digest(key, secret, "sha256").hex()[:12]
    return f"<secret:{rule}:{fingerprint}>".encode()


def placeholders(text: str | bytes) -> set[str]:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return {mark[0].decode() for mark in _MARKS.finditer(data)}


def new_placeholders(before: str | bytes | None, after: str | bytes | None) -> set[str]:
    """Return the placeholders that occur in `after` but not in `before`. None counts as empty.

    Use this to check text from a model, which may have copied placeholders into a file. Text with
    new placeholders must not be written to a user's file.
    """
    found = placeholders(after or "")
    return found - placeholders(before or "") if found else found


def _unescape(data: bytes) -> _Unescaped | None:
    """Replace escape sequences that stand for token characters. Return None if there are none."""
    if b"\\" not in data:
        return None
    pieces: list[bytes] = []
    at: list[int] = []
    longer = [0]
    done = 0
    for match in _ESCAPES.finditer(data):
        (start, end), spelled = _escape(match, data)
        if spelled is None:
            continue
        pieces += (data[done:start], spelled)
        at.append(start - longer[-1])
        longer.append(longer[-1] + end - start - len(spelled))
        done = end
    return _Unescaped(b"".join([*pieces, data[done:]]), at, longer) if at else None


def _escape(match: Match, data: bytes) -> tuple[Span, bytes | None]:
    """Return the span of an escape sequence, and its replacement.

    The replacement is empty for a line continuation, and None for a character that cannot be part
    of a token.
    """
    span = Span(*match.span())
    if not data.startswith(b"\\", span.start):
        return Span(span.start + 1, span.end - 1), b""
    if data.endswith(b"/", span.start, span.end):
        return span, b"/"
    group = next(group for group in range(1, _OCTAL + 1) if match.span(group)[0] >= 0)
    start, end = match.span(group)
    spelled = bytes([int(data[start:end], 8 if group == _OCTAL else 16)])
    return span, spelled if _IS_WORD.match(spelled) else None


def _mask(data: bytes, hidden: Iterable[Span]) -> bytes:
    """Return `data` with all hidden spans replaced by filler, so that no rule matches in them."""
    filled = bytearray(data)
    for start, end in hidden:
        filled[start:end] = FILLER.encode() * (end - start)
    return bytes(filled)


def _outside_placeholders(
    findings: Iterable[Finding], shields: Sequence[Span], *, inside_too: bool = False
) -> Iterator[Finding]:
    """Yield the parts of findings that are outside placeholders. Very short parts are skipped.

    With `inside_too`, findings that are completely inside a placeholder are also yielded.
    """
    for start, end, rule in findings:
        at = start
        for number in range(bisect_right(shields, start, key=lambda span: span.end), len(shields)):
            shield = shields[number]
            if shield.start >= end or (inside_too and shield.start <= start and end <= shield.end):
                break
            if shield.start - at >= _MIN_REMAINDER:
                yield Finding(at, shield.start, rule)
            at = shield.end
        if at == start or end - at >= _MIN_REMAINDER:
            yield Finding(at, end, rule)


def _widen_to_characters(data: bytes, finding: Finding) -> Finding:
    """Widen the finding so that it starts and ends at UTF-8 character boundaries."""
    start, end, rule = finding
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return Finding(start, end, rule)


def _split_at_lines(data: bytes, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the part of each finding in each line, so that replacing them keeps all newlines."""
    for start, end, rule in findings:
        at = start
        for line in data[start:end].split(b"\n"):
            if line:
                yield Finding(at, at + len(line), rule)
            at += len(line) + 1


def _merge_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Merge overlapping findings and yield them from left to right.

    A merged finding has the rule of its longest part, or of the first of several equally long
    parts.
    """
    start, end, rule, longest = 0, 0, "", 0
    for finding in sorted(findings, key=lambda finding: finding[:2]):
        if finding.start >= end:
            if rule:
                yield Finding(start, end, rule)
            start, end, rule, longest = *finding, finding.end - finding.start
            continue
        end = max(end, finding.end)
        if finding.end - finding.start > longest:
            rule, longest = finding.rule, finding.end - finding.start
    if rule:
        yield Finding(start, end, rule)


def _replace_findings(
    data: bytes, findings: Iterable[Finding], mark: Callable[[str, bytes], bytes]
) -> bytes:
    """Return `data` with every finding replaced by `mark(rule, secret)`."""
    pieces: list[bytes] = []
    marks: dict[tuple[str, bytes], bytes] = {}  # a secret often occurs several times
    at = 0
    for start, end, rule in _merge_findings(findings):
        secret = data[start:end]
        if (rule, secret) not in marks:
            marks[rule, secret] = mark(rule, secret)
        pieces += (data[at:start], marks[rule, secret])
        at = end
    pieces.append(data[at:])
    return b"".join(pieces)
