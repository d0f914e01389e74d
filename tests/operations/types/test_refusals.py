"""Types that are never proposed, however likely they are."""

import pytest

from remora.operations.types.facts.evidence import Collector, Evidence
from remora.operations.types.ranking.refusals import Refusals
from remora.operations.types.source.project_index import ProjectIndex
from remora.operations.types.source.terms import UNKNOWN

PROJECT = "class Base:\n    pass\n\n\nclass One(Base):\n    pass\n\n\nclass Two(Base):\n    pass\n"


REFUSED = {
    "only tests pass it": ("int", [("test_call", "int")]),
    "another type is passed": ("str", [("call", "str"), ("call", "bytes")]),
    "another was seen": ("str", [("default", "str"), ("observed", "bytes")]),
    "a flag": ("float", [("default", "bool"), ("call", "float")]),
    "one of several subclasses": ("One", [("call", "One")]),
    "a foreign class": ("str", [("members", "str"), ("isinstance", "Tag")]),
    "tested as a list": ("str", [("members", "str"), ("isinstance", "list")]),
    "compared with a number": ("str", [("call", "str"), ("compared", "int")]),
    "a guess that says nothing": ("Any", [("members", "Any")]),
    "str(x)": ("str", [("docstring", "str"), ("to_text", UNKNOWN)]),
    "str(x), equal names": ("int", [("same_class", "int"), ("to_text", UNKNOWN)]),
}
ALLOWED = {
    "a default, too": ("int", [("test_call", "int"), ("default", "int")]),
    "their base": ("Base", [("call", "One"), ("isinstance", "Base")]),
    "tested itself": ("str", [("members", "str"), ("isinstance", "str")]),
    "abstract": ("list", [("default", "list"), ("isinstance", "Sequence")]),
    "str(x), a call": ("int", [("call", "int"), ("to_text", UNKNOWN)]),
}


@pytest.mark.parametrize("case", [*REFUSED, *ALLOWED])
def test_refused_types_of_a_parameter(case: str) -> None:
    index = ProjectIndex({"shop.py": PROJECT})
    term, evidence = (REFUSED | ALLOWED)[case]
    every = [Evidence(source, each) for source, each in evidence]
    assert Refusals(every, index, "parameter").refuses(term) is (case in REFUSED)


def test_a_comparison_with_a_number_says_nothing_of_a_parameter_with_a_general_name() -> None:
    index = ProjectIndex({"shop.py": PROJECT})
    compared = [Evidence("compared", "int"), Evidence("prior", "int", 4, 1.0)]
    assert Refusals(compared, index, "parameter", "y").refuses("int")
    assert not Refusals(compared, index, "parameter", "count").refuses("int")


def test_refused_types_of_a_result_and_of_keys() -> None:
    index = ProjectIndex({"shop.py": PROJECT})
    part = [Evidence("returned", "bool", 4, 0.75)]
    assert Refusals(part, index, "return").refuses("bool"), "one of four results is not known"
    assert not Refusals([*part, Evidence("docstring", "bool")], index, "return").refuses("bool")
    nothing = [Evidence("nothing", "None")]
    assert not Refusals(nothing, index, "return").refuses("None")
    assert Refusals([*nothing, Evidence("documented", UNKNOWN)], index, "return").refuses("None")
    for term, refused in (("list[dict[str, int | str]]", True), ("dict[str, int | None]", False)):
        record = [Evidence("returned", term)]
        assert Refusals(record, index, "return").refuses(term) is refused
    empty = [Evidence("returned", "Iterator[NoReturn]")]
    assert Refusals(empty, index, "return").refuses("Iterator[NoReturn]")
    usual = [Evidence("prior", "str", 1, 0.9)]
    assert not Refusals(usual, index, "parameter", "name").refuses("str")
    assert Refusals(usual, index, "parameter", "name", "__setitem__").refuses("str")


MEMBERS = """\
class Sub:
    def __init__(self, method):
        self.regex = self.method = method


def use(read, assigned, other, both):
    assigned.regex = read.regex
    both.regex = both.method = other.__class__
"""


def test_members_of_every_object_and_one_assigned_attribute_say_nothing() -> None:
    collector = Collector(ProjectIndex({"shop.py": MEMBERS}))
    found = {
        key[-1]: each.term
        for key, evidence in collector.finish(observed=None).items()
        for each in evidence
        if each.source == "members"
    }
    assert found == {"read": "Sub", "both": "Sub"}


DOCUMENTED = '''\
class Field:
    """A field.

    :param bool signed: whether it has a sign
    :param int high: the greatest length, or None
    :rtype: int
    """

    def __init__(self, signed, high):
        self.signed = signed
'''


def test_the_docstring_of_a_class_documents_the_parameters_of_init() -> None:
    collector = Collector(ProjectIndex({"shop.py": DOCUMENTED}))
    found = {
        (key[-1], each.source): each.term
        for key, evidence in collector.finish(observed=None).items()
        for each in evidence
        if each.source in ("docstring", "may_be_none", "documented")
    }
    assert found == {
        ("signed", "docstring"): "bool",
        ("high", "docstring"): "int",
        ("high", "may_be_none"): "None",
    }
