"""Functions that widen, merge and replace the spans of secrets."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from remora.trace.redact.heuristics import FILLER
from remora.trace.redact.rule import Span

_MIN_REMAINDER = 4


class Finding(NamedTuple):
    """Byte offsets of a secret, and the name of the rule that found it."""

    start: int
    end: int
    rule: str


def mask(data: bytes, hidden: Iterable[Span]) -> bytes:
    """Return `data` with all hidden spans replaced by filler, so that no rule matches in them."""
    filled = bytearray(data)
    for start, end in hidden:
        filled[start:end] = FILLER.encode() * (end - start)
    return bytes(filled)


def outside_placeholders(
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


def widen_to_characters(data: bytes, finding: Finding) -> Finding:
    """Widen the finding so that it starts and ends at UTF-8 character boundaries."""
    start, end, rule = finding
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return Finding(start, end, rule)


def split_at_lines(data: bytes, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the part of each finding in each line, so that replacing them keeps all newlines."""
    for start, end, rule in findings:
        at = start
        for line in data[start:end].split(b"\n"):
            if line:
                yield Finding(at, at + len(line), rule)
            at += len(line) + 1


def merge_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
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


def replace_findings(
    data: bytes, findings: Iterable[Finding], mark: Callable[[str, bytes], bytes]
) -> bytes:
    """Return `data` with every finding replaced by `mark(rule, secret)`."""
    pieces: list[bytes] = []
    marks: dict[tuple[str, bytes], bytes] = {}  # a secret often occurs several times
    at = 0
    for start, end, rule in merge_findings(findings):
        secret = data[start:end]
        if (rule, secret) not in marks:
            marks[rule, secret] = mark(rule, secret)
        pieces += (data[at:start], marks[rule, secret])
        at = end
    pieces.append(data[at:])
    return b"".join(pieces)
