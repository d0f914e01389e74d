"""Tests that claim nothing that another test does not claim.

    def test_length():                       def test_length_of_two():
        assert len(Cart("a", "b")) == 2          cart = Cart("a", "b")
                                                 assert 2 == len(cart)

The second one is a duplicate of the first: with the same fixtures and parameters, all its claims are
among those of the other test.
"""

from collections.abc import Iterator, Sequence

from remora.operations.judged_change import Change
from remora.operations.test.judging.written_test import WrittenTest, tests_in


def duplicates(change: Change, tests: Sequence[WrittenTest]) -> dict[str, WrittenTest]:
    """Return the test that already claims what a changed test claims, by the ID of the latter."""
    changed = {test.id for test in tests}
    found: dict[str, WrittenTest] = {}
    for path in {test.path: None for test in tests}:
        every = tests_in(path, change.files[path].after or b"")
        known = [test for test in every.values() if test.id not in changed]
        for test in (test for test in tests if test.path == path):
            same = next(_same(test, known), None)
            if same is not None:
                found[test.id] = same
            else:
                known.append(test)
    return found


def _same(test: WrittenTest, known: Sequence[WrittenTest]) -> Iterator[WrittenTest]:
    """Yield the known tests of the same class or of none that claim all that a test claims."""
    claims = {claim.text for claim in test.claims}
    for other in known:
        is_said = bool(claims) and claims <= {claim.text for claim in other.claims}
        if is_said and test.setting == other.setting:
            yield other
