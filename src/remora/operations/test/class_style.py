"""Classes of tests: whether a project groups its tests in classes, and how it names them."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.syntax.source import parse_text
from remora.operations.test.source_blocks import test_functions, used_names

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
    texts: Iterable[str],
    own: str,
    qualname: str,
    siblings: Collection[str],
    stem: str = "",
) -> ClassStyle:
    """Return the place of a new test among the tests in `texts`.

    `own` is the source of the file in which the test is inserted, which may be empty. `siblings`
    contains the names of the other functions of the module, or of the methods of the class, and
    `stem` is the module's name.
    """
    trees = [tree for text in texts for tree in [parse_text(text)] if isinstance(tree, ast.Module)]
    classes = [one for tree in trees for one in _test_classes(tree)]
    methods = sum(len(test_functions(node.body)) for node in classes)
    functions = sum(len(test_functions(tree.body)) for tree in trees)
    if methods <= functions:
        return ClassStyle("function", "", "", function_name(qualname))
    form: Form = "unittest" if _uses_unittest(classes) else "class"
    inherits = form == "unittest" or sum(map(is_test_case, classes)) * 2 > len(classes)
    tree = parse_text(own)
    here = _test_classes(tree) if isinstance(tree, ast.Module) else []
    base, base_import = "", None
    if inherits and isinstance(tree, ast.Module):
        base = _near_base(tree, here)
    if inherits and not base:
        base, base_import = _unittest_base(trees, classes)
    plain = isinstance(tree, ast.Module) and bool(test_functions(tree.body))
    if plain and ("." not in qualname or form == "class"):
        return ClassStyle("function", "", "", function_name(qualname))
    return _in_class(here, classes, qualname, form, siblings, stem)._replace(
        base=base, base_import=base_import
    )


def _uses_unittest(classes: list[ast.ClassDef]) -> bool:
    """Return True if most assertions in the classes are methods such as `self.assertEqual`."""
    nodes = [node for one in classes for node in ast.walk(one)]
    named = any(map(is_test_case, classes))
    methods = sum(
        isinstance(node, ast.Attribute) and node.attr.startswith("assert") for node in nodes
    )
    plain = sum(isinstance(node, ast.Assert) for node in nodes)
    return methods > plain or (named and not plain)


def is_test_case(one: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in one.bases)


def _near_base(tree: ast.Module, here: Iterable[ast.ClassDef]) -> str:
    """Return the usual base class of the classes in a file that has it, or an empty string."""
    own = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    bound = {*own, *(each.bound for each in imported_names(tree))}
    bases = Counter(ast.unparse(one.bases[0]) for one in here if len(one.bases) == 1)
    for base, _ in bases.most_common(1):
        is_case = base.endswith("TestCase") or (base in own and is_test_case(own[base]))
        if is_case and base.partition(".")[0] in bound and not _prepares(own.get(base), ()):
            return base
    return ""


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
    stem: str,
) -> ClassStyle:
    *outer, name = qualname.split(".")
    test = f"test_{name}"
    about = {_flat(one.name): one for one in here}
    for subject in (name, *outer):
        if _flat(subject) in about:
            return ClassStyle(form, about[_flat(subject)].name, "", test)
    by_function = not stem or any(_flat(each) in about for each in siblings)
    of_module = None if by_function or outer else about.get(_flat(stem))
    if of_module is None or of_module.decorator_list or _prepares(of_module, here):
        of_module = _related_class(here, outer[0] if outer else "", siblings)
    if of_module is not None:
        return ClassStyle(form, of_module.name, "", test)
    affixes = Counter(_affixes(one.name) for one in others)
    prefix, suffix = max(affixes, key=lambda each: affixes[each], default=("", ""))
    if not prefix and not suffix:
        prefix = "Test"
    words = name if by_function else stem
    subject = outer[0] if outer else "".join(w[:1].upper() + w[1:] for w in words.split("_"))
    owner = f"{prefix}{subject}{suffix}"
    taken = {one.name for one in here}
    return ClassStyle(form, owner if owner not in taken else f"{owner}Values", "", test)


def _related_class(
    here: list[ast.ClassDef], owner: str, siblings: Collection[str]
) -> ast.ClassDef | None:
    """Return the class with most tests named after `siblings`.

    For a method, the name of its class in that of the test class is enough, and for a function,
    that it is the only class. Most tests must use the class or the functions. A decorated class,
    which may pass arguments, one with a set-up but without such names, and one whose tests have
    numbers as names are not related.
    """
    words = {name.strip("_") for name in siblings}
    wanted = {owner} if owner else {*siblings}

    def relation(one: ast.ClassDef) -> tuple[int, int]:
        tests = test_functions(one.body)
        named = sum(test.name.removeprefix("test").strip("_") in words for test in tests)
        using = sum(bool(wanted & used_names(test)) for test in tests)
        numbered = sum(bool(_NUMBERED.match(test.name)) for test in tests)
        fits = _flat(owner) in _flat(one.name) if owner else len(here) == 1
        fits = fits and not _prepares(one, here)
        if one.decorator_list or numbered * 2 > len(tests) or using * 2 <= len(tests):
            return 0, 0
        return named if owner or named > 1 else 0, using if fits else 0

    best = max(here, key=relation, default=None)
    return best if best is not None and any(relation(best)) else None


def _prepares(one: ast.ClassDef | None, classes: Iterable[ast.ClassDef]) -> bool:
    """Return True if a class, or its base class in the same file, does more than assign values."""
    for part in one.body if one is not None else ():
        if isinstance(part, ast.FunctionDef) and (
            "autouse" in ast.unparse(part)
            or (part.name in _SET_UP and not all(isinstance(o, ast.Assign) for o in part.body))
        ):
            return True
    bases = {ast.unparse(base) for base in one.bases} if one is not None else set()
    return any(each.name in bases and _prepares(each, ()) for each in classes)


def _affixes(name: str) -> tuple[str, str]:
    match = _AFFIX.match(name)
    return (match[1] or "", match[3] or "") if match else ("", "")


def _flat(name: str) -> str:
    """Return the subject of a test class, or a function's name, without case and underscores."""
    match = _AFFIX.match(name)
    return (match[2] if match and match[2] else name).replace("_", "").lower()


def _test_classes(tree: ast.Module) -> list[ast.ClassDef]:
    nodes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return [node for node in nodes if test_functions(node.body)]


def function_name(qualname: str) -> str:
    """Return the name of a test function, such as `test_shop_cart_add` for `ShopCart.add`."""
    words = [snake_case(part) for part in qualname.split(".")]
    return f"test_{'_'.join(word.strip('_') for word in words)}"


def snake_case(name: str) -> str:
    """Return a class name in lower case, with underscores between its words."""
    return _CAMEL.sub("_", name).lower()
