"""Which lines of a text are new."""

import time

from remora.tools.host.ruff.finding import new_lines

FUNCTIONS = "".join(f"def f{number}(x):\n    pass\n\n\n" for number in range(2000))


def test_a_line_is_new_where_it_was_not() -> None:
    before = "a = 1\n\ndef f():\n    return a\n"
    after = "b = 2\n\ndef f():\n    return a\n\ndef g():\n    return a\n"
    assert new_lines(before, after) == {1, 5, 6, 7}
    assert new_lines(before, before) == set()


def test_lines_that_occur_often_are_old_and_cost_little() -> None:
    started = time.process_time()
    new = new_lines(FUNCTIONS, FUNCTIONS.replace("(x)", "(x: int)"))
    assert new == set(range(1, 8000, 4))
    assert time.process_time() - started < 1
