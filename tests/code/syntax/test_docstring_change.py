"""Detection of changes to docstrings only."""

import pytest

from remora.runs.review.filters import only_docstrings_changed

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
def test_only_docstrings_changed(after: bytes) -> None:
    assert only_docstrings_changed(CODE, after)


def test_a_body_of_only_a_docstring_may_become_pass() -> None:
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
def test_code_changed(after: bytes) -> None:
    assert not only_docstrings_changed(CODE, after)
