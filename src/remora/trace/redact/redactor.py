"""Redaction of everything that is recorded."""

import hashlib
import hmac
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

from remora.trace.redact.assignment import ASSIGNMENT
from remora.trace.redact.builtin_rules import BUILTIN, KnownValues, environment_secrets
from remora.trace.redact.escapes import unescape
from remora.trace.redact.nested_values import is_header, redact_nested
from remora.trace.redact.rule import (
    FILLER,
    MIN_LENGTH,
    Finding,
    Rule,
    Span,
    UserRule,
    compile_pattern,
    compile_user_rule,
    find_secrets,
    is_secret_value,
    pattern_set,
)

VERSION = "redact/4"
"""Version of the built-in rules; raise it whenever the matches of a rule change."""
_T = TypeVar("_T")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MARKS = re.compile(rb"<secret:([a-z0-9-]+):[0-9a-f]{12}>")
_MARK = b"<secret:"
_PASSES = 8
"""Passes before a text counts as tangled (decision)."""
_TANGLED = "tangled"
_SHORT, _KEPT = 200, 4096
"""Characters of texts that are kept, and number of them (decision): words of findings repeat."""
_MIN_REMAINDER = 4
"""Fewer bytes of a finding beside a placeholder are left (decision)."""


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
        self._clean_short = lru_cache(maxsize=_KEPT)(self._clean_text)
        self.version = _version(rules, own, sorted(set(secrets.values())))

    def text(self, text: str, under: str = "") -> str:
        """Return `text` with secrets redacted. Return the same object if there are none.

        `under` is the name of the key or field that contains the text, if that name indicates a
        secret.
        """
        if len(text) < MIN_LENGTH and not self._user_rules:
            return text
        clean = (self._clean_short if len(text) <= _SHORT else self._clean_text)(text, under)
        return text if clean is None else clean

    def _clean_text(self, text: str, under: str) -> str | None:
        """Return a text with secrets redacted, or None if there are none."""
        head = f"{under}: ".encode() if under and is_header(under) else b""
        data = head + text.encode("utf-8", "surrogatepass")
        clean = self._clean(data, text=True, under="" if head else under)
        return None if clean is data else clean[len(head) :].decode("utf-8", "surrogatepass")

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
        return any(self._needs(plain.data) for plain in unescape(data))

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
        """Redact `value` at any depth, including keys.

        Returns the same object if it contains no secrets.
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
        shields, masked = self._shields(data)
        findings = [*self._by_user_rules(masked), *self._by_rules(masked, matching)]
        if under and is_secret_value(under, masked):
            findings.append(Finding(0, len(data), ASSIGNMENT.name))
        literal = self._find_known_values(data, matching)
        for plain in unescape(masked):
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

    def _by_user_rules(self, data: bytes) -> Iterator[Finding]:
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
