"""Checks that a change writes only one docstring, that it is right, and that no text is lost."""

import ast
import re
from bisect import bisect
from collections.abc import Iterator, Set
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate

from remora.code.docstrings.docstring_sections import parse_docstring
from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.docstrings.drift_finding import DocumentedCode
from remora.code.docstrings.name_words import only_repeats_name
from remora.code.edit.comments import comments_in
from remora.code.syntax.definitions import find_definitions
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.errors import HostError
from remora.ids import MODULE, NodeKey, escape_path, node_key
from remora.judges.submission import Submission
from remora.operations.docstring.literal import is_lone_pass
from remora.operations.docstring.mend import certain_renames

_TreeAndComments = tuple[str, tuple[str, ...]]
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
    allowed = sorted(_contradicted(before))
    starts = [start for start, _ in allowed]
    stops = [*accumulate((stop for _, stop in allowed), max, initial=0)]
    new = iter(_WORD.findall(after.text))
    for word in _WORD.finditer(before.text):
        inside = word.end() <= stops[bisect(starts, word.start())]
        if not inside and word[0] not in _MARKUP and word[0] not in new:  # later than those before
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
    lines, quoted = code.parsed.lines, code.parsed.quoted_words()
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    removable, renamed = set[str](), certain_renames(code, found.contradictions)
    places = [*_renamed_in_entries(code, renamed.keys())]
    may_remove = code.keeps_signature and not code.is_overridable
    for contradiction in found.contradictions:
        is_unknown = contradiction.code in ("unknown-parameter", "renamed-parameter")
        if is_unknown and contradiction.name not in renamed and may_remove:
            removable.add(contradiction.name)
        if wrong := re.escape(contradiction.old):
            mentions = re.finditer(wrong, lines[contradiction.line])
            places += ((contradiction.line, *at.span()) for at in mentions)
        places += quoted.get(contradiction.old, ()) if is_unknown else ()
    yield from ((starts[line] + start, starts[line] + end) for line, start, end in places)
    for section in code.parsed.sections if removable else ():
        gone = [item for item in section.items if removable.issuperset(item.names)]
        if section.kind == "parameters" and len(gone) == len(section.items):
            yield starts[section.first], starts[section.last + 1]
        for item in gone if section.kind == "parameters" else ():
            yield starts[item.first], starts[item.last + 1]


def _renamed_in_entries(code: DocumentedCode, names: Set[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the places of some names in entries, also those of types: line, start and end."""
    for item in (item for section in code.parsed.sections for item in section.items):
        for name in names & set(item.names):
            for place in re.finditer(rf"\b{re.escape(name)}\b", code.parsed.lines[item.first]):
                yield item.first, *place.span()


def docstrings_only(submission: Submission) -> str:
    """Check that the syntax tree and comments are unchanged, except for the node's docstring."""
    key = submission.node_id
    for path, (before, after) in submission.files.items():
        if path != submission.path or before is None or after is None:
            return f"{path}: not the file of {key}"
        kept = tree_without_docstring(path, before, key)
        if kept is None or kept != tree_without_docstring(path, after, key):
            return f"{path}: more than the docstring of {submission.node_name} changed"
    return ""


@lru_cache(maxsize=16)  # used when a docstring is written and when it is verified
def tree_without_docstring(path: str, content: bytes, key: str) -> _TreeAndComments | None:
    """Return a hash of the syntax tree without the node's docstring, and all comments in order.

    Return None if the file does not parse or does not contain the node.
    """
    source = read_source(path, content)
    if isinstance(source, Unreadable):
        return None
    spelled = escape_path(path)
    holder: ast.AST | None = None
    if key == node_key(spelled, MODULE):
        holder = source.tree
    else:
        found = find_definitions(source.tree, spelled)
        holder = next(
            (definition.node for definition in found if definition.key == NodeKey(key)), None
        )
    if holder is None:
        return None
    text = source.utf8.decode("utf-8", "surrogatepass")
    return _hash_without_docstring(source, holder), tuple(comments_in(text))


def _hash_without_docstring(source: Source, holder: ast.AST) -> str:
    """Remove the docstring of `holder`, or the `pass` that it replaces, and return a hash."""
    body = holder.body  # type: ignore[attr-defined]
    if docstring_text(body) is not None or is_lone_pass(body):
        del body[0]
    return sha256(ast.dump(source.tree).encode("utf-8", "surrogatepass")).hexdigest()
