"""Which lines of a text are new."""

import time

from remora.workspaces.apply.line_diff import new_lines

FUNCTIONS = b"".join(b"def f%d(x):\n    pass\n\n\n" % number for number in range(2000))


def test_a_line_is_new_where_it_was_not_and_frequent_lines_cost_little() -> None:
    before = b"a = 1\n\ndef f():\n    return a\n"
    after = b"b = 2\n\ndef f():\n    return a\n\ndef g():\n    return a\n"
    assert new_lines(before, after) == {1, 5, 6, 7}
    assert new_lines(before, before) == set()
    started = time.process_time()
    new = new_lines(FUNCTIONS, FUNCTIONS.replace(b"(x)", b"(x: int)"))
    assert new == set(range(1, 8000, 4))
    assert time.process_time() - started < 1
