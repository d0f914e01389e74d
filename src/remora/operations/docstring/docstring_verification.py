"""Checks that a docstring is right, and that nothing a person wrote is lost."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from remora.errors import HostError
from remora.operations.docstring.documented_node import DocumentedNode, find_documented
from remora.operations.docstring.drift.drift_finding import DriftFinding
from remora.operations.docstring.mend import certain_renames
from remora.operations.docstring.parse import parse_docstring
from remora.operations.docstring.summary.name_words import only_repeats_name
from remora.operations.submission import Submission

_WORD = re.compile(r"\w+|[^\w\s]")
_MARKUP = frozenset("`*'\"()[]{}:,.-")


def documented(submission: Submission) -> str:
    """Check that the node has a docstring, and that it does not contradict the code more."""
    before, after = _versions(submission)
    if after is None or after.text is None:
        return f"{submission.node_name} has no docstring"
    extra = after.new_contradictions(before)
    return f"its docstring is outdated: {extra[0].message}" if extra else ""


def says_more(submission: Submission) -> str:
    """Check that the summary of a new docstring says more than the names of the signature."""
    before, after = _versions(submission)
    if after is None or after.text is None or (before is not None and before.text is not None):
        return ""
    if only_repeats_name(parse_docstring(after.text).summary, after):
        return "the summary of its docstring only repeats the name"
    return ""


def keeps_text(submission: Submission) -> str:
    """Check that every word of an existing docstring is kept, unless the code contradicts it."""
    before, after = _versions(submission)
    if before is None or before.text is None or after is None or after.text is None:
        return ""
    old = list(_WORD.finditer(before.text))
    new = _WORD.findall(after.text)
    matcher = SequenceMatcher(None, [each[0] for each in old], new, autojunk=False)
    allowed = list(_contradicted(before))
    for kind, first, end, _, _ in matcher.get_opcodes():
        for word in old[first:end] if kind in ("delete", "replace") else ():
            inside = any(start <= word.start() and word.end() <= stop for start, stop in allowed)
            if not inside and word[0] not in _MARKUP:
                return f"deletes {word[0]!r} from the docstring, which the code does not contradict"
    return ""


def _versions(submission: Submission) -> tuple[DocumentedNode | None, DocumentedNode | None]:
    before, after = submission.files.get(submission.path, (None, None))
    return _node(submission, before), _node(submission, after)


def _node(submission: Submission, content: bytes | None) -> DocumentedNode | None:
    """Return the node in a version of its file.

    What other docstrings of the project say is not known here. It only makes contradictions fewer,
    before and after alike.
    """
    if content is None:
        return None
    try:
        return find_documented(submission.path, content, submission.qualname)
    except HostError:
        return None


def _contradicted(found: DocumentedNode) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part of the docstring that the code contradicts.

    A whole entry is such a part only if its parameter does not exist, is not just renamed, and
    neither a subclass nor a decorator may add it.
    """
    code = found.code
    if code is None:
        return
    lines = code.parsed.lines
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    removable, renamed = set[str](), certain_renames(code, found.contradictions)
    may_remove = code.keeps_signature and not code.is_overridable
    for each in found.contradictions:
        is_unknown = each.code in ("unknown-parameter", "renamed-parameter")
        if is_unknown and each.name not in renamed and may_remove:
            removable.add(each.name)
        for line, start, end in _mentions(lines, each, anywhere=is_unknown):
            yield starts[line] + start, starts[line] + end
    for section in code.parsed.sections if removable else ():
        gone = [item for item in section.items if removable.issuperset(item.names)]
        if section.kind == "parameters" and len(gone) == len(section.items):
            yield starts[section.first], starts[section.last + 1]
        for item in gone if section.kind == "parameters" else ():
            yield starts[item.first], starts[item.last + 1]


def _mentions(
    lines: Sequence[str], found: DriftFinding, *, anywhere: bool
) -> Iterator[tuple[int, int, int]]:
    """Yield the line, start and end of what is wrong on its line, and in backticks anywhere."""
    wrong = re.escape(found.old)
    for at in re.finditer(wrong, lines[found.line]) if wrong else ():
        yield found.line, at.start(), at.end()
    for number, line in enumerate(lines if wrong and anywhere else ()):
        for at in re.finditer(f"(?<=`){wrong}(?=`)", line):
            yield number, at.start(), at.end()
