"""Annotations are not scattered over code that has none."""

from remora.judges.types.project_index import ProjectIndex
from remora.operations.types.signatures import Signatures

BARE = """\
def area(width, height):
    return width * height


def label(item, sep):
    return f"{item}{sep}"


def shout(text):
    return text.upper()


class Box:
    def __len__(self):
        return 0

    @property
    def names(self):
        return list(self._names)

    @names.setter
    def names(self, values):
        self._names = tuple(values)
"""
TYPED = "def half(n: int) -> float:\n    return n / 2\n\n\ndef twice(n: int):\n    return 2 * n\n"


def _kept(text: str, *found: tuple[str, str, str], more: str = "") -> set[str]:
    """Return the slots that are left of some found annotations."""
    index = ProjectIndex({"box.py": text, "more.py": more})
    signatures = Signatures(index)
    slots = {(slot.function, slot.name): slot for slot in index.files["box.py"].source.slots}
    terms = {("box.py", slots[function, name]): term for function, name, term in found}
    return {f"{slot.function}.{slot.name}" for _, slot in signatures.consistent(terms)}


AREA = (("area", "width", "int"), ("area", "height", "int"), ("area", "return", "int"))
SHOUT = (("shout", "text", "str"), ("shout", "return", "str"))
LABEL = (("label", "item", "object"), ("label", "sep", "str"), ("label", "return", "str"))
TYPED_MORE = "\n".join(f"def f{n}(a: int) -> int: return a" for n in range(20))


def test_a_signature_is_written_whole_or_not_at_all() -> None:
    every = {f"{function}.{name}" for function, name, _ in (*AREA, *SHOUT, *LABEL)}
    assert _kept(BARE, *AREA, *SHOUT, *LABEL) == every
    text = f"{BARE}\n\ndef flake(message, *args):\n    pass\n"
    half = (("flake", "message", "str"), ("flake", "return", "None"))
    for some in (half[:1], half[1:], half):
        assert _kept(text, *AREA, *SHOUT, *LABEL, *some) == every
        assert _kept(text, *some, more=TYPED_MORE) == set(), "also in annotated code"
    assert len(_kept(text, *AREA, *SHOUT, *LABEL, *half, ("flake", "args", "Any"))) == 11


def test_a_signature_that_has_annotations_is_completed_everywhere() -> None:
    text = f"{BARE}\n\ndef flake(message: str, sep):\n    print(message, sep)\n"
    rest = (("flake", "sep", "str"), ("flake", "return", "None"))
    assert _kept(text, *rest) == {"flake.sep", "flake.return"}
    assert _kept(text, rest[1]) == set(), "it is not whole"
    none = "class Tin:\n    def __init__(self, size: int):\n        self.size = size\n"
    assert _kept(f"{BARE}\n\n{none}", ("Tin.__init__", "return", "None")) == set()


def test_a_file_does_not_get_only_results_of_none() -> None:
    none = [(f"f{n}", "return", "None") for n in range(9)]
    text = "".join(f"def f{n}(): print()\n" for n in range(9))
    assert _kept(text, *none) == set()
    assert _kept(text, *none, more=TYPED_MORE) == set()
    assert len(_kept(text, *none[1:], ("f0", "return", "int"))) == 9


SHAPES = """\
class Shape:
    def scale(self, by):
        return by

class Square(Shape):
    def scale(self, by):
        return by

class Circle(Shape):
    def scale(self, by):
        return by

    def __eq__(self, other):
        return True
"""
SCALES = [
    (f"{name}.scale", slot, "int")
    for name in ("Shape", "Square", "Circle")
    for slot in ("by", "return")
]


def test_overrides_and_siblings_are_written_alike() -> None:
    assert len(_kept(SHAPES, *SCALES)) == 6
    assert _kept(SHAPES, *SCALES[:4]) == set(), "one override stays bare"
    other = [*SCALES[:4], ("Circle.scale", "by", "float"), ("Circle.scale", "return", "int")]
    assert _kept(SHAPES, *other) == set(), "one override takes another type"
    siblings = SHAPES.replace("(Shape)", "(Command)").replace("def scale", "def other", 1)
    assert len(_kept(siblings, *SCALES[2:], more=TYPED_MORE)) == 4
    assert _kept(siblings, *SCALES[2:4], more=TYPED_MORE) == set(), (
        "they share a base class of another package"
    )
    apart = siblings.replace("(Command)", "(Exception)", 1)
    assert _kept(apart, *SCALES[2:4], more=TYPED_MORE) == {"Square.scale.by", "Square.scale.return"}


def test_few_signatures_in_a_large_file_are_left_out() -> None:
    more = "\n".join(f"def f{n}(a): pass" for n in range(20))
    assert _kept(f"{BARE}\n\n{more}", *AREA, *SHOUT) == set(), "less than three, and a quarter"
    assert len(_kept(f"{BARE}\n\n{more}", *AREA, *SHOUT, *LABEL)) == 8
    assert len(_kept(BARE, *AREA, *SHOUT, more=more)) == 5, "a quarter or more"


def test_what_annotated_code_lacks_is_completed() -> None:
    assert _kept(TYPED, ("twice", "return", "int")) == {"twice.return"}


def test_a_getter_and_its_setter_agree() -> None:
    index = ProjectIndex({"box.py": BARE, "more.py": TYPED_MORE})
    getter, value, result = (("box.py", each) for each in index.files["box.py"].source.slots[-3:])
    signatures = Signatures(index)
    assert signatures.consistent({getter: "list[str]"}) == {}, "tuples are assigned, too"
    both = {getter: "list[str]", value: "list[str]", result: "None"}
    assert signatures.consistent(both) == both
    assert signatures.consistent({getter: "bool"}) == {getter: "bool"}


def test_methods_of_abstract_classes_without_a_common_base_are_no_family() -> None:
    unrelated = """
class Reader(ABC):
    def load(self, path): return open(path)
class Loader(ABC):
    def load(self, **options): return options["x"]
"""
    typed = "".join(f"def f{n}(x: int) -> int: return x\n" for n in range(6))
    index = ProjectIndex({"a.py": f"from abc import ABC{unrelated}{typed}"})
    path, result = (("a.py", slot) for slot in index.files["a.py"].source.slots[:2])
    found = {path: "str", result: "TextIO"}
    assert Signatures(index).consistent(found) == found
