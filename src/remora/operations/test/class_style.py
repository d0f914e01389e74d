"""Classes of tests: whether a project groups its tests in classes, and how it names them."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from remora.code.syntax.source import parse_text
from remora.operations.test.test_blocks import used_names
from remora.operations.test.test_imports import Imported, imported_names

Form = Literal["function", "class", "unittest"]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_AFFIX = re.compile(r"(Test)?(\w*?)(TestCase|Tests|Test|Case)?\Z")

_NUMBERED = re.compile(r"test_*[a-z]?\d+\Z")
_SET_UP = frozenset({"setUp", "setUpClass", "asyncSetUp", "setup_method", "setup_class", "setup"})


class ClassStyle(NamedTuple):
    """The place of a new test. `owner` and `base` are empty for a function.

    `base` is the source of the base class, for a class that has to be created, and `base_import`
    imports it.
    """

    form: Form
    owner: str
    base: str
    test_name: str
    base_import: Imported | None = None


def class_style(
    texts: Iterable[str], own: str, qualname: str, siblings: Collection[str] = ()
) -> ClassStyle:
    """Return the place of a new test among the tests in `texts`.

    `own` is the source of the file in which the test is inserted, which may be empty. `siblings`
    contains the names of the other functions of the module, or of the methods of the class.
    """
    trees = [tree for text in texts for tree in [parse_text(text)] if isinstance(tree, ast.Module)]
    classes = [one for tree in trees for one in _test_classes(tree)]
    methods = sum(len(_methods(one)) for one in classes)
    functions = sum(_is_test(one) for tree in trees for one in tree.body)
    if methods <= functions:
        return ClassStyle("function", "", "", function_name(qualname))
    form: Form = "unittest" if _uses_unittest(classes) else "class"
    inherits = form == "unittest" or sum(map(_is_test_case, classes)) * 2 > len(classes)
    base, base_import = _unittest_base(trees, classes) if inherits else ("", None)
    tree = parse_text(own)
    here = _test_classes(tree) if isinstance(tree, ast.Module) else []
    plain = isinstance(tree, ast.Module) and any(map(_is_test, tree.body))
    if plain and ("." not in qualname or form == "class"):
        return ClassStyle("function", "", "", function_name(qualname))
    return _in_class(here, classes, qualname, form, siblings)._replace(
        base=base, base_import=base_import
    )


def _uses_unittest(classes: list[ast.ClassDef]) -> bool:
    """Return True if most assertions in the classes are methods such as `self.assertEqual`."""
    nodes = [node for one in classes for node in ast.walk(one)]
    named = any(map(_is_test_case, classes))
    methods = sum(
        isinstance(node, ast.Attribute) and node.attr.startswith("assert") for node in nodes
    )
    plain = sum(isinstance(node, ast.Assert) for node in nodes)
    return methods > plain or (named and not plain)


def _is_test_case(one: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in one.bases)


def _unittest_base(
    trees: Iterable[ast.Module], classes: Iterable[ast.ClassDef]
) -> tuple[str, Imported]:
    """Return the usual base class of test cases, and its import."""
    known = {
        each.bound: each
        for tree in trees
        for each in imported_names(tree)
        if not each.module.startswith(".")
    }
    bases = Counter(ast.unparse(one.bases[0]) for one in classes if len(one.bases) == 1)
    for base, _ in bases.most_common():
        root = base.partition(".")[0]
        if base.endswith("TestCase") and root in known:
            return base, known[root]
    return "unittest.TestCase", Imported("unittest", "", "unittest")


def _in_class(
    here: list[ast.ClassDef],
    others: list[ast.ClassDef],
    qualname: str,
    form: Form,
    siblings: Collection[str],
) -> ClassStyle:
    *outer, name = qualname.split(".")
    about = {_flat(one.name): one.name for one in here}
    for subject, test in ((name, f"test_{name}"), *((each, f"test_{name}") for each in outer)):
        if _flat(subject) in about:
            return ClassStyle(form, about[_flat(subject)], "", test)
    related = _related_class(here, outer[0] if outer else "", siblings)
    if related is not None:
        return ClassStyle(form, related.name, "", f"test_{name}")
    affixes = Counter(_affixes(one.name) for one in others)
    prefix, suffix = affixes.most_common(1)[0][0]
    if not prefix and not suffix:
        prefix = "Test"
    subject = (
        outer[0] if outer else "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    )
    owner = f"{prefix}{subject}{suffix}"
    taken = {one.name for one in here}
    return ClassStyle(form, owner if owner not in taken else f"{owner}Values", "", f"test_{name}")


def _related_class(
    here: list[ast.ClassDef], owner: str, siblings: Collection[str]
) -> ast.ClassDef | None:
    """Return the class with most tests named after `siblings`.

    For a method, the name of its class in that of the test class is enough. Most tests must use
    the class or the functions. A decorated class, which may pass arguments, one with a set-up but
    without such names, and one whose tests have numbers as names are not related.
    """
    words = {name.strip("_") for name in siblings}
    wanted = {owner} if owner else {*siblings}

    def relation(one: ast.ClassDef) -> tuple[int, int]:
        tests = _methods(one)
        named = sum(test.name.removeprefix("test").strip("_") in words for test in tests)
        using = sum(bool(wanted & used_names(test)) for test in tests)
        numbered = sum(bool(_NUMBERED.match(test.name)) for test in tests)
        fits = bool(owner) and _flat(owner) in _flat(one.name) and not _has_set_up(one, here)
        if one.decorator_list or numbered * 2 > len(tests) or using * 2 <= len(tests):
            return 0, 0
        return named if owner or named > 1 else 0, using if fits else 0

    best = max(here, key=relation, default=None)
    return best if best is not None and any(relation(best)) else None


def _has_set_up(one: ast.ClassDef, classes: Iterable[ast.ClassDef]) -> bool:
    """Return True if a class, or a base class in the same file, prepares its tests."""
    bases = {ast.unparse(base) for base in one.bases}
    own = any(
        isinstance(part, ast.FunctionDef)
        and (part.name in _SET_UP or "autouse" in ast.unparse(part))
        for part in one.body
    )
    return own or any(each.name in bases and _has_set_up(each, ()) for each in classes)


def _affixes(name: str) -> tuple[str, str]:
    match = _AFFIX.match(name)
    return (match[1] or "", match[3] or "") if match else ("", "")


def _flat(name: str) -> str:
    """Return the subject of a test class, or a function's name, without case and underscores."""
    match = _AFFIX.match(name)
    return (match[2] if match and match[2] else name).replace("_", "").lower()


def _test_classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [one for one in tree.body if isinstance(one, ast.ClassDef) and _methods(one)]


def _methods(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in owner.body if isinstance(one, ast.FunctionDef) and _is_test(one)]


def _is_test(one: ast.stmt) -> bool:
    return isinstance(one, ast.FunctionDef) and one.name.startswith("test")


def function_name(qualname: str) -> str:
    """Return the name of a test function, such as `test_shop_cart_add` for `ShopCart.add`."""
    words = [snake_case(part) for part in qualname.split(".")]
    return f"test_{'_'.join(word.strip('_') for word in words)}"


def snake_case(name: str) -> str:
    """Return a class name in lower case, with underscores between its words."""
    return _CAMEL.sub("_", name).lower()
