"""Annotations are not scattered over code that has none."""

from remora.operations.types.facts.evidence import Collector, Evidence, key_of
from remora.operations.types.ranking.overrides import hook_result
from remora.operations.types.ranking.signature_choice import Signatures
from remora.operations.types.ranking.type_candidates import Ranked, with_self
from remora.operations.types.source.project_index import ProjectIndex
from remora.operations.types.source.slots import RETURN

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
LABEL = (("label", "sep", "str"), ("label", "return", "str"))


def test_a_signature_is_annotated_if_most_of_it_is_known() -> None:
    every = {"area.width", "area.height", "area.return", "shout.text", "shout.return"}
    every |= {"label.sep", "label.return"}
    assert _kept(BARE, *AREA, *SHOUT, *LABEL) == every, "item stays bare"
    assert _kept(BARE, *AREA[:2], *SHOUT, *LABEL) == every - {"area.return"}, "all but the result"
    assert _kept(BARE, AREA[0], *SHOUT, *LABEL) == set(), "two signatures are not enough"


def test_one_of_several_parameters_is_not_annotated_alone() -> None:
    text = f"{BARE}\n\ndef ship(street, town, weight):\n    pass\n"
    found = (*AREA, *SHOUT, *LABEL, ("ship", "weight", "int"), ("ship", "return", "None"))
    assert {each for each in _kept(text, *found) if "ship" in each} == {"ship.return"}
    optional = text.replace("street, town, weight", "weight, town=None")
    assert "ship.weight" in _kept(optional, *found)
    more = (*found, ("ship", "town", "str"))
    assert len(_kept(text, *more)) == len(more), "street stays bare"
    pair = f"{BARE}\n\ndef equal(a, b):\n    pass\n"
    one = _kept(pair, *AREA, *SHOUT, *LABEL, ("equal", "a", "str"), ("equal", "return", "bool"))
    assert "equal.a" not in one, "not one of two with general names"
    assert "equal.return" in one
    typed = "\n".join(f"def f{n}(a: int) -> int: return a" for n in range(20))
    assert _kept(text, *found[-2:], more=typed) == {"ship.return"}, "also in annotated code"


def test_plain_results_alone_are_written_where_much_is_known() -> None:
    text = f"{BARE}\n\ndef close(self, name):\n    pass\n"
    found = (*AREA, *SHOUT, *LABEL)
    assert "close.return" in _kept(text, *found, ("close", "return", "None"))
    assert "close.return" not in _kept(text, *found, ("close", "return", "Box"))
    assert _kept(text, *SHOUT, *LABEL, ("close", "return", "None")) == set()


def test_few_signatures_in_a_file_or_a_large_project_are_left_out() -> None:
    assert _kept(BARE, *AREA, ("Box.__len__", "return", "int")) == set()
    more = "\n".join(f"def f{n}(a): pass" for n in range(20))
    assert _kept(BARE, *AREA, *SHOUT, *LABEL, more=more) == set()


def test_what_annotated_code_lacks_is_completed() -> None:
    assert _kept(TYPED, ("twice", "return", "int")) == {"twice.return"}
    typed = "\n".join(f"def f{n}(a: int) -> int: return a" for n in range(20))
    assert _kept(BARE, LABEL[1], more=typed) == {"label.return"}


def test_a_getter_and_its_setter_agree() -> None:
    typed = "\n".join(f"def f{n}(a: int) -> int: return a" for n in range(20))
    index = ProjectIndex({"box.py": BARE, "more.py": typed})
    getter, value, result = (("box.py", each) for each in index.files["box.py"].source.slots[-3:])
    signatures = Signatures(index)
    assert signatures.consistent({getter: "list[str]"}) == {}, "tuples are assigned, too"
    both = {getter: "list[str]", value: "list[str]", result: "None"}
    assert signatures.consistent(both) == both
    assert signatures.consistent({getter: "bool"}) == {getter: "bool"}


def test_a_method_that_returns_self_returns_its_class_or_self() -> None:
    """Both are right, so the likelier one has the probability of both."""
    index = ProjectIndex({"box.py": "class Box:\n    def add(self): return self\n"})
    function = next(index.every_function())
    ranked = [Ranked("str", 0.6), Ranked("Box", 0.5), Ranked("Self", 0.25)]
    returned = [Evidence("self", "Self"), Evidence("self", "Box")]
    assert with_self(ranked, returned, function) == [Ranked("Box", 0.75), Ranked("str", 0.6)]
    assert with_self(ranked, [Evidence("returned", "Box")], function) == ranked


def test_an_empty_method_returns_none_if_overrides_do() -> None:
    base = "class Node:\n" + "".join(
        f"    def {name}(self, parent):\n        pass\n\n" for name in ("opened", "value", "closed")
    )
    below = "class Leaf(Node):\n    pass\n\n\nclass Green(Leaf):\n"
    below += "    def opened(self, parent):\n        print(parent)\n\n"
    below += "    def value(self, parent):\n        return parent.value\n"
    index = ProjectIndex({"node.py": base, "leaf.py": below})
    evidence = Collector(index).finish(observed=None)
    found = {
        each.short: hook_result(each, RETURN, index, evidence)
        for each in index.files["node.py"].functions
    }
    assert found == {"opened": "None", "value": "", "closed": ""}
    green = index.files["leaf.py"].functions[0]
    assert evidence[key_of(green, RETURN)][0].source == "nothing"
    assert hook_result(green, RETURN, index, evidence) == "", "it is not empty"
