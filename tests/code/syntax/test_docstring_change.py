"""Only docstrings changed: the rest of the syntax tree is the same."""

import pytest

from remora.code.syntax.docstring_change import only_docstrings_changed

CODE = b"def f(x):\n    return x  # one\n"


@pytest.mark.parametrize(
    "after",
    [
        CODE,
        b'def f(x):\n    """Say."""\n    return x\n',
        b'"""A module."""\n\ndef f(x):\n    return x\n',
        b"def f(x):\n\n\n    return (x)\n",
    ],
)
def test_these_leave_the_code(after: bytes) -> None:
    assert only_docstrings_changed(CODE, after)


def test_a_body_that_was_only_a_docstring_may_become_another_one() -> None:
    assert only_docstrings_changed(
        b'def f():\n    """A."""\n', b'def f():\n    """B."""\n    pass\n'
    )


@pytest.mark.parametrize(
    "after",
    [
        b"def f(x):\n    return x + 1\n",
        b'def f(x):\n    x\n    """No docstring."""\n    return x\n',
        b"def f(x, y):\n    return x\n",
        b"def f(x:\n    return x\n",
    ],
)
def test_these_do_not(after: bytes) -> None:
    assert not only_docstrings_changed(CODE, after)
