"""What is found for missing annotations: pyrefly writes, rules and ty judge."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.judges.types.type_checker import TypeChecker
from remora.operations.types import pyrefly
from remora.operations.types.inference import Inference

FILES = {
    "labels.py": "def brand():\n    return 'tea'\n",
    "shop.py": "SHELF = []\n\n\ndef keep(lot):\n    SHELF.append(lot)\n    return len(SHELF)\n",
    "use.py": "from labels import brand\nfrom shop import keep\n\nkeep(brand())\nkeep(brand())\n",
}
KEPT = {"brand.return": "str", "keep.lot": "str", "keep.return": "int"}


def _found(files: Mapping[str, str]) -> dict[str, str]:
    with closing(TypeChecker(files, {}, minor=11)) as ty:
        inference = Inference(files, ty, 11)
        inference.run(inference.slots(files))
    return {f"{slot.function}.{slot.name}": t for (_, slot), t in inference.annotations.items()}


@pytest.mark.slow
def test_calls_in_other_files_say_what_a_parameter_is() -> None:
    assert _found(FILES) == KEPT
    modules = "import shop as s\nfrom labels import brand\n\ns.keep(brand())\ns.keep('jam')\n"
    assert _found(FILES | {"use.py": modules}) == KEPT


def test_calls_in_tests_alone_say_nothing() -> None:
    files = {"shop.py": FILES["shop.py"], "labels.py": FILES["labels.py"]}
    files["tests/test_use.py"] = FILES["use.py"]
    assert _found(files) == {"brand.return": "str"}


def test_files_are_planned_before_anything_is_judged() -> None:
    with closing(TypeChecker(FILES, {}, minor=11)) as ty:
        inference = Inference(FILES, ty, 11)
        planned = inference.promising(inference.slots(FILES))
    assert {path for path, _ in planned} == {"labels.py", "shop.py"}
    assert inference.annotations == {}


@pytest.mark.slow
def test_candidates_of_other_files_are_kept() -> None:
    files = {"labels.py": FILES["labels.py"], "size.py": "def size():\n    return 3\n"}
    with closing(TypeChecker(files, {}, minor=11)) as ty:
        inference = Inference(files, ty, 11)
        for path in files:
            inference.run(inference.slots([path]))
    assert {path: term for (path, _), term in inference.candidates.items()} == {
        "labels.py": "str",
        "size.py": "int",
    }
    assert "pyrefly" not in inference.why_left("labels.py", 0)


def test_a_type_that_the_file_cannot_name_is_left_with_the_reason() -> None:
    item = "class Item: ...\n\n\ndef get() -> Item:\n    return Item()\n"
    use = "from shop import get\n\n\ndef one():\n    return get()\n"
    files = {"shop.py": item, "till.py": item, "use.py": use}
    with closing(TypeChecker(files, {}, minor=11)) as ty:
        inference = Inference(files, ty, 11)
        inference.run(inference.slots(files))
    assert inference.why_left("use.py", 0) == "the file has no name for a type"


CHAIN = """\
def half(n):
    return n // 2


def both(a, b):
    return half(a), half(b)


both(2, 4)
both(6, 8)
"""


@pytest.mark.slow
def test_results_follow_from_what_was_found_before() -> None:
    assert _found({"shop.py": CHAIN}) == {
        "half.n": "int",
        "half.return": "int",
        "both.a": "int",
        "both.b": "int",
        "both.return": "tuple[int, int]",
    }


BOX = """\
class Box:
    def __init__(self):
        self._size = 3

    def __eq__(self, other):
        return self._size == 3

    def __exit__(self, kind, error, trace):
        self._size = 0

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value

    @app.command
    def run(self, **options) -> None:
        print(options)

    def copied(self, **options):
        print(options)
        return self
"""


def test_what_the_language_says_is_added() -> None:
    found = _found({"box.py": BOX})
    assert found["Box.__eq__.other"] == "object"
    assert found["Box.__exit__.error"] == "BaseException | None"
    assert "Box.run.options" not in found, "its decorator may read it"
    assert found["Box.size.value"] == "int", "what the getter returns"
    assert found["Box.copied.options"] == "Any"
    assert found["Box.copied.return"] == "Box"


@pytest.mark.slow
def test_self_is_a_class_unless_others_inherit() -> None:
    text = "class Box:\n    def cut(self):\n        return self\n\n    def size(self):\n        return 1\n"
    assert _found({"box.py": text})["Box.cut.return"] == "Box"
    more = f"{text}\n\nclass Tin(Box):\n    pass\n"
    assert _found({"box.py": more})["Box.cut.return"] == "Self"


@pytest.mark.slow
def test_what_a_caller_contradicts_is_left_out() -> None:
    files = FILES | {"more.py": "from shop import keep\n\nprint(keep('jam').upper())\n"}
    assert "keep.return" not in _found(files), "it makes a fault visible"


def test_a_file_on_which_pyrefly_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "pyrefly"
    program.write_text(
        '#!/bin/sh\ncase "$*" in *shop.py*) exit 1;; esac\n'
        "for each in *.py; do echo '# seen' >> $each; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(pyrefly, "program_of", lambda _: str(program))
    with closing(TypeChecker(FILES, {}, minor=11)) as checker:
        asked = pyrefly.Pyrefly(checker)
        assert asked.infer(sorted(FILES), {}).keys() == {"labels.py", "use.py"}
        assert asked.unread == {"shop.py"}
    # what a run leaves unreadable does not keep the other files from being restored
    program.write_text(
        "#!/bin/sh\nfor name in *.py; do echo >> $name; done\nrm -r labels.py\nmkdir labels.py\n"
    )
    with closing(TypeChecker(FILES, {}, minor=11)) as checker:
        with pytest.raises(HostError, match=r"labels\.py"):
            pyrefly.Pyrefly(checker).infer(sorted(FILES), {})
        assert (checker.folder / "use.py").read_text() == FILES["use.py"]
