"""The type checker that a project is configured for has a say, too."""

import sys
from pathlib import Path

import pytest

from remora.operations.types.checker.import_check import find_import_check
from remora.operations.types.checker.project_checker import find_checker
from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.inference import Inference, Settings
from remora.operations.types.ranking.linear_model import weights
from remora.sandbox.interpreters import ProjectPython

FILES = {
    "shop.py": "def half(n=1):\n    return n / 2\n",
    "use.py": "from shop import half\n\n\ndef use(n: int) -> int:\n    return half(n)\n",
}


def test_a_project_without_settings_has_no_checker(tmp_path: Path) -> None:
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    assert find_checker({"pyproject.toml": b"[project]\n"}, python, ["."]) is None
    assert find_checker({"mypy.ini": b"[mypy]\n"}, None, ["."]) is None


@pytest.mark.slow
def test_annotations_that_mypy_refuses_are_removed(tmp_path: Path) -> None:
    """Here mypy knows the result of a division, and ty is not asked."""
    settings = {"mypy.ini": b"[mypy]\n"}
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    checker = find_checker(settings, python, sorted(FILES))
    assert checker is not None
    with TypeChecker(FILES, settings, minor=11) as ty:
        inference = Inference(FILES, ty, weights(), Settings(minor=11))
        parameter, result = inference.slots(["shop.py"])
        inference.annotations = {parameter: "int", result: "float"}
        inference.settle_with(checker.check)
    assert inference.annotations == {parameter: "int"}, "use() would return a float"


def test_annotations_that_break_an_import_are_removed(tmp_path: Path) -> None:
    """A decorator reads them when the function is defined."""
    plain = "def bare(f):\n    assert not f.__annotations__\n    return f\n"
    files = {
        "shop.py": f"{plain}\n\n@bare\ndef half(n=1):\n    return n / 2\n",
        "src/cart.py": "def add(n=1):\n    return n\n",
    }
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    check = find_import_check(sorted(files), python)
    assert check is not None
    with TypeChecker(files, {}, minor=11) as ty:
        inference = Inference(files, ty, weights(), Settings(minor=11))
        named = {slot.name: (path, slot) for path, slot in inference.slots(["shop.py"])}
        (other, _) = inference.slots(["src/cart.py"])
        inference.annotations = {named["n"]: "int", other: "int"}
        inference.settle_with(check.check)
    assert inference.annotations == {other: "int"}
