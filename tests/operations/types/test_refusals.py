"""Types that are never proposed, however likely they are."""

import pytest

from remora.operations.types.facts.evidence import Collector, Evidence
from remora.operations.types.ranking.refusals import Missing, refusal_of
from remora.operations.types.source.project_index import ProjectIndex
from remora.operations.types.source.terms import UNKNOWN

PROJECT = "class Base:\n    pass\n\n\nclass One(Base):\n    pass\n\n\nclass Two(Base):\n    pass\n"


# each rule with an example: the type, and the sources with the types that they suggest
REFUSED: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "values": ("str", [("call", "str"), ("call", "bytes")]),
    "values, seen": ("str", [("docstring", "str"), ("observed", "tuple[str, str]")]),
    "values, a flag": ("float", [("default", "bool"), ("call", "float")]),
    "nothing": ("Any", [("members", "Any")]),
    "code, a foreign class": ("str", [("members", "str"), ("isinstance", "Tag")]),
    "code, a list": ("str", [("members", "str"), ("isinstance", "list")]),
    "code, a number": ("str", [("call", "str"), ("compared", "int")]),
    "open": ("str", [("docstring", "str"), ("may_be_none", "None")]),
    "open, not used": ("str", [("call", "str"), ("unused", UNKNOWN)]),
    "tests": ("int", [("test_call", "int")]),
    "name, of other packages": ("str", [("prior", "str")]),
    "name, of the project": ("str", [("prior", "str"), ("same_file", "str")]),
    "name, of a class": ("Base", [("class_name", "Base")]),
    "one-call": ("int", [("call", "int")]),
}
ALLOWED = {
    "a default, too": ("int", [("test_call", "int"), ("default", "int")]),
    "a default and its use": ("bool", [("default", "bool"), ("condition", "bool")]),
    "a default": ("int", [("default", "int")]),
    "a call and a name": ("int", [("call", "int"), ("prior", "int")]),
    "two calls": ("int", [("call", "int"), ("call", "int")]),
    "their base": ("Base", [("call", "One"), ("isinstance", "Base")]),
    "tested itself": ("str", [("members", "str"), ("isinstance", "str")]),
    "abstract": ("list", [("default", "list"), ("isinstance", "Sequence")]),
}


def _rule(
    term: str,
    evidence: list[Evidence],
    signature: str = "given",
    function: str = "show",
    *,
    is_result: bool = False,
    is_dense: bool = False,
) -> str:
    """Return the name of the rule that refuses a type, or an empty string."""
    text = f"class Shop:\n    def {function}(self, {signature}):\n        return 1\n"
    index = ProjectIndex({"shop.py": PROJECT, "more.py": text})
    (shown,) = index.files["more.py"].functions
    parameter = None if is_result else shown.parameters[0]
    rule = refusal_of(Missing(shown, parameter, evidence, index, is_dense), term)
    assert rule is None or rule.reason
    return rule.name if rule else ""


@pytest.mark.parametrize("case", [*REFUSED, *ALLOWED])
def test_refused_types_of_a_parameter(case: str) -> None:
    term, evidence = (REFUSED | ALLOWED)[case]
    every = [Evidence(source, each) for source, each in evidence]
    assert _rule(term, every) == (case.partition(",")[0] if case in REFUSED else "")


def test_a_comparison_with_a_number_says_nothing_of_a_parameter_with_a_general_name() -> None:
    compared = [Evidence("compared", "int"), Evidence("prior", "int", 4, 1.0)]
    assert _rule("int", compared, "y") == "general-name"
    assert _rule("int", compared, "count") == ""


def test_what_authors_mean_by_a_name_counts() -> None:
    named = [Evidence("same_project", "str"), Evidence("prior", "str")]
    assert _rule("str", named) == "name"
    assert _rule("str", named, is_dense=True) == ""
    once = [Evidence("same_project", "Base")]
    assert _rule("Base", once, is_dense=True) == "name"
    assert _rule("Base", [once[0]._replace(places=2)], is_dense=True) == ""


def test_a_default_with_many_meanings_is_not_enough() -> None:
    for default, term in (("False", "bool"), ("None", "None"), ("0", "int"), ("-1", "int")):
        alone = [Evidence("default", term)]
        assert _rule(term, alone, f"given={default}") == "default"
        assert _rule(term, [*alone, Evidence("forward", term)], f"given={default}") == ""
    for default, term in (("20", "int"), ("1.0", "float"), ("'a'", "str")):
        assert _rule(term, [Evidence("default", term)], f"given={default}") == ""


def test_refused_types_of_keys() -> None:
    usual = [Evidence("compared", "str"), Evidence("prior", "str", 1, 0.9)]
    assert _rule("str", usual, "name") == ""
    assert _rule("str", usual, "name", "__setitem__") == "general-name"


def _result_rule(term: str, *evidence: Evidence) -> str:
    return _rule(term, list(evidence), is_result=True)


def test_refused_types_of_a_result() -> None:
    part = Evidence("returned", "bool", 4, 0.75)
    assert _result_rule("bool", part) == "some-results", "one of four results is not known"
    assert _result_rule("bool", part, Evidence("docstring", "bool")) == ""
    nothing = Evidence("nothing", "None")
    assert _result_rule("None", nothing) == ""
    assert _result_rule("None", nothing, Evidence("observed", "int")) == "values"
    assert _result_rule("None", Evidence("stub", "None")) == "hook"
    for term, rule in (("list[dict[str, int | str]]", "record"), ("dict[str, int | None]", "")):
        assert _result_rule(term, Evidence("returned", term)) == rule
    empty = Evidence("returned", "Iterator[NoReturn]")
    assert _result_rule("Iterator[NoReturn]", empty) == "nothing"


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
    :param int high: the greatest length
    """

    def __init__(self, signed, high):
        self.signed = signed
'''


def test_the_docstring_of_a_class_documents_the_parameters_of_init() -> None:
    collector = Collector(ProjectIndex({"shop.py": DOCUMENTED}))
    found = {
        key[-1]: each.term
        for key, evidence in collector.finish(observed=None).items()
        for each in evidence
        if each.source == "docstring"
    }
    assert found == {"signed": "bool", "high": "int"}
