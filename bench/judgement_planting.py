"""Words that contradict a docstring if they replace their opposites."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_PAIRS = """
true/false first/last before/after minimum/maximum min/max smallest/largest smaller/larger
shortest/longest shorter/longer lowest/highest lower/upper least/most fewer/more less/greater
add/remove adds/removes added/removed append/remove insert/delete create/delete creates/deletes
created/deleted raise/return raises/returns raised/returned if/unless ascending/descending
start/end starts/ends beginning/end begin/end left/right top/bottom above/below
increase/decrease increases/decreases increment/decrement enable/disable enables/disables
enabled/disabled open/close opens/closes opened/closed load/save loads/saves read/write
reads/writes reading/writing encode/decode encodes/decodes encoded/decoded encoding/decoding
encrypt/decrypt compress/decompress serialize/deserialize escape/unescape escaped/unescaped
push/pop lock/unlock locked/unlocked connect/disconnect connected/disconnected
register/unregister subscribe/unsubscribe install/uninstall import/export input/output
parent/child parents/children ancestor/descendant ancestors/descendants row/column rows/columns
horizontal/vertical horizontally/vertically width/height source/destination
client/server request/response public/private local/global local/remote internal/external
absolute/relative positive/negative even/odd lowercase/uppercase prefix/suffix leading/trailing
prepend/append next/previous forward/backward forwards/backwards old/new older/newer
oldest/newest earliest/latest earlier/later early/late inclusive/exclusive include/exclude
includes/excludes included/excluded including/excluding allow/forbid allowed/forbidden
accept/reject accepted/rejected accepts/rejects valid/invalid empty/non-empty all/no
always/never any/all with/without inside/outside within/outside
mutable/immutable static/dynamic explicit/implicit explicitly/implicitly optional/required
default/custom same/different equal/unequal single/multiple success/failure
succeeds/fails succeeded/failed successful/failed hide/show hides/shows
hidden/visible present/missing known/unknown supported/unsupported
synchronous/asynchronous send/receive sends/receives sent/received upload/download
attach/detach bind/unbind merge/split join/split multiply/divide addition/subtraction
sum/difference sine/cosine real/imaginary numerator/denominator keys/values key/value
acquire/release start/stop starts/stops started/stopped starting/stopping
pause/resume expand/collapse wide/narrow deep/shallow strict/lenient safe/unsafe
quoted/unquoted signed/unsigned sorted/unsorted ordered/unordered directed/undirected
weighted/unweighted finite/infinite convex/concave singular/plural incoming/outgoing
inbound/outbound head/tail front/back both/neither
"""
"""Words and their opposites. A word is replaced by its first opposite in the list."""

_NEGATED = re.compile(
    r"\b(is|are|was|were|can|could|must|should|will|would|does|do|has|have|may|did) not\b"
    r"|\bcannot\b",
    re.IGNORECASE,
)
_AFFIRMED = re.compile(r"\b(is|are|can|must|should|will)\b(?! not| only)", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w`'\"./-])[A-Za-z][a-z]*(?:-[a-z]+)?(?![\w`'\"/-]|\.\w|\()")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?=\S)[^.!?]*)*[.!?](?=\s|$)")
_WORDS = range(4, 41)


class Site(NamedTuple):
    """A word in a text, and what to write in its place to say the opposite."""

    start: int
    end: int
    word: str
    opposite: str
    is_negation: bool


def _opposites() -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in _PAIRS.split():
        one, other = pair.split("/")
        found.setdefault(one, other)
        found.setdefault(other, one)
    return found


OPPOSITES = _opposites()


def opposite_sites(text: str) -> Iterator[Site]:
    """Yield the words of a text's sentences that have an opposite.

    >>> [(site.word, site.opposite) for site in opposite_sites("Return the first item of all.")]
    [('Return', 'Raise'), ('first', 'last'), ('all', 'none')]
    """
    for sentence in _SENTENCE.finditer(text):
        if len(sentence[0].split()) not in _WORDS:
            continue
        for found in _WORD.finditer(text, sentence.start(), sentence.end()):
            if opposite := OPPOSITES.get(found[0].lower()):
                yield _site(found, opposite, is_negation=False)
        for found in _NEGATED.finditer(text, sentence.start(), sentence.end()):
            affirmed = "can" if found[0].lower() == "cannot" else found[1]
            yield _site(found, affirmed, is_negation=True)
        for found in _AFFIRMED.finditer(text, sentence.start(), sentence.end()):
            yield _site(found, f"{found[0]} not", is_negation=True)


def _site(found: re.Match[str], opposite: str, *, is_negation: bool) -> Site:
    text = opposite.capitalize() if found[0][:1].isupper() else opposite
    return Site(found.start(), found.end(), found[0], text, is_negation)
