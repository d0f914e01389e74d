"""Annotations that values of the project's own tests contradict are taken out."""

from pathlib import Path

import pytest

from remora.hub.node import ObservedValues
from remora.operations.types.contradictions import contradictions
from tests.runs.gates.conftest import Judge

SOURCE = """\
def show(path):
    return "/".join(path) if isinstance(path, tuple) else path


def half(n):
    return n / 2


def strict(name):
    if not isinstance(name, str):
        raise TypeError(name)
    return name
"""
TESTS = """\
import pytest

import paths


def test_values():
    assert paths.show(("a", "b")) == "a/b"
    assert paths.half(1) == 0.5
    for _ in range(30):
        with pytest.raises(TypeError):
            paths.strict(1)
    assert paths.strict("a") == "a"
"""
PLANTS = {
    "paths.py": [
        ("def show(path):", "def show(path: str) -> str:"),
        ("def half(n):", "def half(n: float) -> float:"),
        ("def strict(name):", "def strict(name: str) -> str:"),
    ]
}


@pytest.mark.slow
def test_an_annotation_that_a_value_contradicts_is_taken_out(active: Path, judge: Judge) -> None:
    """What a call that raises was given proves nothing, and an int may be given for a float."""
    judged = judge({"paths.py": SOURCE, "test_paths.py": TESTS}, PLANTS)
    (reason,) = judged.reasons
    assert reason.startswith("taken out by values (show, line 1): paths.py: show(path: str)")
    assert judged.gates.proof == "tested"
    (text,) = judged.accepted().values()
    assert "def show(path):" in text
    assert "def half(n: float) -> float:" in text
    assert "def strict(name: str) -> str:" in text


@pytest.mark.parametrize(
    ("annotation", "given", "is_wrong"),
    [
        ("str", "tuple[str, str]", True),
        ("str", "None", True),
        ("str | None", "None", False),
        ("float", "int", False),
        ("Literal['a', None]", "None", False),
        ("object", "int", False),
        ("Any", "int", False),
        ("Base", "shop.Child", False),
        ("Child", "shop.Base", True),
        ("str", "markupsafe.Markup", False),  # a foreign class may have any base
        ("Hashable", "type", False),
        ("bool", "NotImplementedType", False),
        ("bytes", "bytearray", False),
        ("T", "int", False),
        ("Alias", "int", False),
    ],
)
def test_only_a_sure_contradiction_counts(annotation: str, given: str, is_wrong: bool) -> None:
    source = (
        "from typing import Any, Hashable, Literal, TypeVar\n\nT = TypeVar('T')\nAlias = int | str\n\n\n"
        "class Base:\n    pass\n\n\nclass Child(Base):\n    pass\n\n\n"
        f"def f(x: {annotation}):\n    return x\n"
    )
    seen = {"node:shop.py:f": ObservedValues(parameters={"x": (given,)})}
    assert bool([*contradictions({"shop.py": source}, seen)]) is is_wrong
