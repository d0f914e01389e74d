"""Tests that pass in one place and fail in another, and what they depend on.

    def test_greets_the_user():
        assert greeting() == "Hello, ann"

Such a test passes only for one user. The tests run in two circumstances that differ in everything
that a test must not depend on. Those with different outcomes run again for each difference alone.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from remora.judges.runner.parent import CIRCUMSTANCES, Circumstances
from remora.judges.tests.test_runs import Outcomes, run_tests
from remora.tools.tree import ToolTree

HERE = CIRCUMSTANCES[0]
ELSEWHERE = replace(CIRCUMSTANCES[1], ascii_files=True)
_OF_USERS = ("HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG", "LC_ALL", "TERM", "COLUMNS", "PATH")
_ASPECTS: Mapping[str, tuple[str, ...]] = {
    "another time zone": ("TZ",),
    "another user": ("USER", "LOGNAME"),
    "another terminal": ("TERM", "COLUMNS"),
    "another machine": ("HOSTNAME",),
    "another locale": ("LC_ALL", "LANG", "LANGUAGE"),
}
"""Environment variables in which circumstances differ, in words."""
_MOST_OTHERS = 20
"""Other tests of a file that show whether its tests depend on the same (decision)."""


def of_this_user(environ: Mapping[str, str]) -> Circumstances:
    """Return the circumstances of the user who runs Remora, as far as variables tell them."""
    own = {name: environ[name] for name in _OF_USERS if name in environ}
    return Circumstances(hash_seed=HERE.hash_seed, variables=own)


def find_causes(place: ToolTree, ids: Sequence[str]) -> dict[str, str]:
    """Return what makes each of some tests fail that pass here and fail elsewhere, by ID.

    It is empty for a test that fails only with several differences together.
    """
    found = dict.fromkeys(ids, "")
    for words, under in _single_differences().items():
        waiting = [test for test in ids if not found[test]]
        outcomes = run_tests(place, waiting, under) if waiting else Outcomes({}, {})
        found |= {test: words for test in waiting if outcomes.of(test) in ("failed", "error")}
    return found


def fails_for_others(place: ToolTree, words: str, others: Sequence[str]) -> bool:
    """Return True if other tests fail in the circumstances with these words, too."""
    under, asked = _single_differences()[words], others[:_MOST_OTHERS]
    if not asked:
        return False
    here, there = run_tests(place, asked, HERE), run_tests(place, asked, under)
    passing = [test for test in asked if here.of(test) == "passed"]
    return any(there.of(test) in ("failed", "error") for test in passing)


def _single_differences() -> dict[str, Circumstances]:
    there = ELSEWHERE.variables
    found = {
        "another hash seed": replace(HERE, hash_seed=ELSEWHERE.hash_seed),
        "another date": replace(HERE, shift=ELSEWHERE.shift),
        "another folder": replace(HERE, moved=True),
        "another default encoding": replace(HERE, ascii_files=True),
    }
    for words, names in _ASPECTS.items():
        own = {name: there[name] for name in names if name in there}
        found[words] = replace(HERE, variables={**HERE.variables, **own})
    return found
