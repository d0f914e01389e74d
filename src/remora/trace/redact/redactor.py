"""Takes secrets out of text: what a stream keeps is what this gives back."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from remora.trace.redact.assignment import ASSIGNMENT, given
from remora.trace.redact.builtin import BUILTIN
from remora.trace.redact.deep import cleaned, is_header
from remora.trace.redact.environment import environment_secrets
from remora.trace.redact.placeholder import placeholder
from remora.trace.redact.plausible import FILLER, SHORTEST
from remora.trace.redact.rule import Matcher, Needs, OwnRule, Rule, Span, compiled, compiled_own

VERSION = "redact/1"
"""The built-in rules' version; to be raised whenever one of them finds something else."""

_T = TypeVar("_T")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MARKS = re.compile(rb"<secret:([a-z0-9-]+):[0-9a-f]{12}>")
_MARK = b"<secret:"
_PASSES = 8
_TANGLED = "tangled"
_LEAST_REST = 4


class Redactor:
    """All rules of one Remora, ready to use; never changes, so threads may share it.

    `key` is the installation's own: the same secret has the same fingerprint everywhere in
    it, and nobody without the key can try out guesses. `environ` holds the variables whose
    values are secret if their names say so. Raises ValueError for a user's rule that cannot
    be used.
    """

    def __init__(
        self,
        key: bytes,
        rules: Sequence[Rule] = BUILTIN,
        environ: Mapping[str, str] = _NOTHING,
        own: Sequence[OwnRule] = (),
    ) -> None:
        self._key = key
        self._rules = [(rule, compiled(rule.pattern)) for rule in rules]
        self._needs = Needs([rule.needs for rule in rules])
        self._own = [(rule.name, *compiled_own(rule)) for rule in own]
        names = {_TANGLED, *(rule.name for rule in rules), *(rule.name for rule in own)}
        found = environment_secrets(environ)
        self._names = frozenset(names | set(found.values()))
        fixed = "".join(f"<secret:{name}:" for name in sorted(self._names)) + "<secret:"
        self._literals = _encoded({s: n for s, n in found.items() if s not in fixed})
        self._literal = _alternatives(self._literals)
        self.version = _version(rules, own, sorted(set(self._literals.values())))

    def text(self, text: str, under: str = "") -> str:
        """`text` with a placeholder in the place of every secret; itself if it has none.

        `under` is the key or field that holds the text, if it tells something about it.
        """
        if len(text) < SHORTEST and not self._own:
            return text
        data = text.encode("utf-8", "surrogatepass")
        if under and is_header(under):
            head = f"{under}: ".encode()
            clean = self._clean(head + data, text=True).removeprefix(head)
            return text if clean == data else clean.decode("utf-8", "surrogatepass")
        clean = self._clean(data, text=True, under=under)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """The same for bytes, whatever their encoding, as long as it keeps ASCII."""
        return self._clean(data, text=False)

    def clean(self, value: _T) -> _T:
        """`value` without secrets, to any depth: in strings, bytes, dictionaries (keys too),
        lists, tuples, sets and msgspec Structs; the same object if nothing was found.

        Anything else is given back as it is. A value that a telling key or field holds
        (`{"password": …}`) is a secret as it would be in text.
        """
        return cleaned(value, self)

    def _clean(self, data: bytes, *, text: bool, under: str = "") -> bytes:
        """Passes until one finds nothing, so that a second cleaning finds nothing either.

        A pass may uncover what an earlier one could not see. Text that is made to go on like
        that for ever goes as a whole.
        """
        for _ in range(_PASSES):
            spans = self._spans(data, under)
            if text:
                spans = [_whole_characters(data, start, end, rule) for start, end, rule in spans]
            if not spans:
                return data
            data = self._replaced(data, spans)
        return placeholder(self._key, _TANGLED, data)

    def _spans(self, data: bytes, under: str) -> list[tuple[int, int, str]]:
        shields = self._shields(data)
        masked = _masked(data, shields) if shields else data
        spans = [span for span in self._by_rules(masked) if span[1] > span[0]]
        if under and given(under, masked):
            spans.append((0, len(data), ASSIGNMENT.name))
        literal = list(self._by_literals(data))
        if shields:
            spans = list(_outside(spans, shields))
            literal = list(_outside(literal, shields, inside_too=True))
        return spans + literal

    def _shields(self, data: bytes) -> list[Span]:
        """Where placeholders stand already; a mark with an unknown name is only text."""
        if _MARK not in data:
            return []
        return [
            Span(*mark.span()) for mark in _MARKS.finditer(data) if mark[1].decode() in self._names
        ]

    def _by_rules(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        for name, matcher, group in self._own:
            for match in matcher.finditer(data):
                yield (*match.span(group), name)
        for position in self._needs.met(data):
            rule, matcher = self._rules[position]
            for start, end in _found(rule, matcher, data):
                yield start, end, rule.name

    def _by_literals(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """Values of the environment; one that overlaps another is found too."""
        if self._literal is None:
            return
        match = self._literal.search(data)
        while match is not None:
            start, end = match.span()
            yield start, end, self._literals[data[start:end]]
            match = self._literal.search(data, start + 1)

    def _replaced(self, data: bytes, spans: list[tuple[int, int, str]]) -> bytes:
        """Overlapping findings become one; the longest names it, of equals the first."""
        spans.sort(key=lambda span: span[:2])
        pieces: list[bytes] = []
        at = 0
        start, end, rule, longest = 0, 0, "", 0
        for next_start, next_end, next_rule in [*spans, (len(data), len(data), "")]:
            if next_start < end:
                end = max(end, next_end)
            else:
                if rule:
                    pieces += (data[at:start], placeholder(self._key, rule, data[start:end]))
                    at = end
                start, end, rule, longest = next_start, next_end, next_rule, 0
            if next_end - next_start > longest:
                rule, longest = next_rule, next_end - next_start
        pieces.append(data[at:])
        return b"".join(pieces)


def _found(rule: Rule, matcher: Matcher, data: bytes) -> Iterator[Span]:
    groups = range(1, matcher.groups + 1)
    done = 0
    for match in matcher.finditer(data):
        whole = Span(*match.span())
        if rule.take is not None:
            taken = rule.take(data, whole) if whole.start >= done else None
            if taken is not None:
                done = taken.end
                yield taken
            continue
        span = next((Span(*match.span(g)) for g in groups if match.span(g)[0] >= 0), whole)
        if rule.accept is None or rule.accept(data[span.start : span.end]):
            yield span


def _masked(data: bytes, shields: Iterable[Span]) -> bytes:
    """`data` with every placeholder filled, so that no rule reads its letters."""
    masked = bytearray(data)
    for start, end in shields:
        masked[start:end] = FILLER.encode() * (end - start)
    return bytes(masked)


def _outside(
    spans: list[tuple[int, int, str]], shields: list[Span], *, inside_too: bool = False
) -> Iterator[tuple[int, int, str]]:
    """The parts of each span that lie between placeholders; tiny rests are no secrets.

    With `inside_too` a span that lies within one placeholder stays.
    """
    for start, end, rule in spans:
        at = start
        for shield in shields[bisect_right(shields, start, key=_end_of) :]:
            if shield.start >= end or (inside_too and shield.start <= start and end <= shield.end):
                break
            if shield.start - at >= _LEAST_REST:
                yield at, shield.start, rule
            at = shield.end
        if end - at >= _LEAST_REST:
            yield at, end, rule


def _end_of(span: Span) -> int:
    return span.end


def _whole_characters(data: bytes, start: int, end: int, rule: str) -> tuple[int, int, str]:
    """The span, widened where it would cut a UTF-8 character."""
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end, rule


def _encoded(secrets: Mapping[str, str]) -> dict[bytes, str]:
    """Each secret as text and as raw bytes of the environment."""
    encoded: dict[bytes, str] = {}
    for secret, name in secrets.items():
        encoded.setdefault(secret.encode("utf-8", "surrogatepass"), name)
        encoded.setdefault(secret.encode("utf-8", "surrogateescape"), name)
    return encoded


def _alternatives(literals: Iterable[bytes]) -> Matcher | None:
    escaped = ["".join(f"\\x{byte:02x}" for byte in literal) for literal in literals]
    return compiled("|".join(escaped), longest=True) if escaped else None


def _version(rules: Sequence[Rule], own: Sequence[OwnRule], variables: list[str]) -> str:
    """Says which rules were at work; of the environment only which variables counted."""
    if rules is BUILTIN and not own and not variables:
        return VERSION
    parts = [(rule.name, rule.pattern) for rule in own]
    if rules is not BUILTIN:
        parts += [(rule.name, rule.pattern) for rule in rules]
    digest = hashlib.sha256(repr((parts, variables)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{VERSION}+{digest[:8]}"
