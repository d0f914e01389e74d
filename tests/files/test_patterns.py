"""Globs of foreign trees: what they match, and that none of them takes for ever."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from remora.files.patterns import IgnoreRules, glob_regex

_PARTS = st.lists(st.sampled_from(["**", "*", "a", "b", "a*", "*a", "*a*b", "?b*", "[ab]*a", "*?"]))
_PATHS = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6).map("/".join)


def plainly(pattern: str) -> re.Pattern[str]:
    """The same glob as one would write it down, which tries everything."""
    said = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"(?:(?<=/)|^)\*\*/|(?:(?<=/)|^)\*\*$|\*|\?|.", pattern)
    return re.compile("".join(said.get(piece, piece) for piece in pieces))


@given(_PARTS.map("/".join), _PATHS)
def test_a_glob_matches_what_it_says(pattern: str, path: str) -> None:
    found = glob_regex(pattern).fullmatch(path) is not None
    assert found == (plainly(pattern).fullmatch(path) is not None)


def test_no_pattern_takes_forever() -> None:
    rules = IgnoreRules()
    rules.add("", "\n".join(["*a" * 40 + "*b", "**/a/" * 40 + "b", "a/" + "**/" * 40 + "b"]))
    began = time.process_time()
    assert not rules.matches("a" * 200 + ".py", folder=False)
    assert not rules.matches("a/" * 200 + "c.py", folder=False)
    assert time.process_time() - began < 5  # of what would be years
