"""Parameters that a docstring renames, invents or leaves out."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from remora.code.docstrings.docstring_sections import Item
from remora.code.docstrings.drift_finding import DocumentedCode, DriftFinding
from remora.code.syntax.definitions import DEFINITIONS, UNKNOWN_PARAMETER
from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.hidden_uses import names_in

_MIN_SIMILARITY = 0.75
_MIN_ABBREVIATION = 3
_MOST_PAIRS = 1000
"""Pairs of an unknown and a missing name (decision). If there are more, their names are not compared:
so many parameters are not renamed at once."""
_WORD = re.compile(r"[a-z]+|[0-9]+")
_CAPITALISED = re.compile(r"[A-Z][a-z]+")
"""A word such as Note or Example, which may look like an entry."""
_ENTRY = re.compile(r"\s+\*{0,2}(\w+) ?(?:\(.*?\))?:")
"""The start of a line such as `name : type` or `name (type): text`."""
_TYPES = frozenset(("int", "str", "float", "bool", "list", "dict", "tuple", "set", "string"))
_CHANGES_SIGNATURE = re.compile(
    r"option|argument|param|inject|event|pass_|patch|given|wrap|kw|sig|alias|rename|deprecat|compat"
    r"|legacy|bind|curry|partial|fixture|add_"
)


def parameter_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield the parameters that are documented but do not exist, or are missing from the list."""
    items, names = documented_parameters(code), dict.fromkeys(_names(code))
    not_accepted = _not_accepted(code, items)
    is_incomplete = any(name not in items and not name.startswith("_") for name in names)
    if not _is_clear(code) or not (not_accepted or (is_incomplete and code.function is not None)):
        return
    is_open = code.function is not None and bool(code.function.args.kwarg)
    spelled = {name.strip("_") for name in names}
    # a text in the body may name a keyword, but only if other keywords are accepted
    used = _TYPES | (_mentioned(code.body) if is_open or code.function is None else set())
    used |= _parameters_of_result(code.body)
    unknown = [
        name
        for name in items
        if (name in not_accepted or (is_open and name not in names))
        and name not in used
        and name.strip("_") not in spelled
    ]
    names_of = (unqualified_name(decorator).lower() for decorator in code.decorators)
    if any(map(_CHANGES_SIGNATURE.search, names_of)):
        unknown = []  # the decorator may add parameters
    missing = unlisted_parameters(code)
    renamed = _renamed(items, unknown, missing, names)
    if is_open:  # other names may be keywords
        renamed = {old: new for old, new in renamed.items() if are_similar(old, new)}
        unknown = list(renamed)
    for name in unknown:
        new = renamed.get(name, "")
        yield DriftFinding(
            code="renamed-parameter" if new else "unknown-parameter",
            line=items[name].first,
            message=f"parameter `{name}` is documented but does not exist"
            + (f"; the signature has `{new}`" if new else ""),
            name=name,
            old=name,
            new=new,
        )
    last = max((item.last for item in items.values()), default=0)
    new_names = set(renamed.values())
    missing = [name for name in missing if name not in new_names]
    if code.function is None or 2 * len(missing) > len(items):
        return  # the list is not meant to be complete
    for name in missing:
        if not code.related.is_usually_left_out(name):
            message = f"parameter `{name}` is not documented, but others are"
            yield DriftFinding(code="missing-parameter", line=last, message=message, name=name)


def _is_clear(code: DocumentedCode) -> bool:
    """Return True if the docstring has a list of parameters, each with a name, as the signature has."""
    sections = (section for section in code.parsed.sections if section.kind == "parameters")
    items = [item for section in sections for item in section.items]
    has_names = bool(items) and all(item.names for item in items)
    return has_names and code.signature is not None and UNKNOWN_PARAMETER not in _names(code)


def _not_accepted(code: DocumentedCode, documented: Collection[str]) -> set[str]:
    """Return the documented names that are certainly not parameters.

    There are none if the class uses one of these names, for example as an attribute, and none of a
    property, which may return a callable that has such parameters.
    """
    args = code.signature.args if code.signature is not None else None
    if args is None or args.vararg is not None or args.kwarg is not None:
        return set()
    names = {argument.arg for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    unknown = {
        name for name in documented if name not in names and not _CAPITALISED.fullmatch(name)
    }
    if not unknown:
        return set()
    if code.function is None:
        nodes = [node for statement in code.body for node in ast.walk(statement)]
        used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        return unknown if unknown.isdisjoint(used | names_in(*code.body)) else set()
    decorators = map(unqualified_name, code.node.decorator_list)
    return set() if any(name.endswith("property") for name in decorators) else unknown


def are_similar(old: str, new: str) -> bool:
    """Return True if one name has all words of the other or abbreviates it, or they are nearly equal."""
    first, second = lower_words(old), lower_words(new)
    if (
        {*first} <= {*second}
        or {*second} <= {*first}
        or SequenceMatcher(None, old, new).ratio() >= _MIN_SIMILARITY
    ):
        return True
    short, long = sorted(("".join(first), "".join(second)), key=len)
    if len(short) < 2 or short[:1] != long[:1]:
        return False
    letters = iter(long)
    return len(short) + _MIN_ABBREVIATION <= 12 and all(letter in letters for letter in short)


def lower_words(text: str) -> list[str]:
    """Return the words and numbers in a text or in a name such as `max_2_items`."""
    return _WORD.findall(text.lower())


def documented_parameters(code: DocumentedCode) -> dict[str, Item]:
    """Return the entries of the docstring's lists of parameters, by name."""
    return {
        name: item
        for section in code.parsed.sections
        if section.kind == "parameters"
        for item in section.items
        for name in item.names
    }


def unlisted_parameters(code: DocumentedCode) -> list[str]:
    """Return the public parameters that a docstring's list leaves out.

    An entry that is indented too far, and so belongs to the entry above, counts as well.
    """
    listed = {name.strip("_") for name in documented_parameters(code)}
    listed |= {found[1] for line in code.parsed.lines if (found := _ENTRY.match(line))}
    return [
        name for name in _names(code) if not name.startswith("_") and name.strip("_") not in listed
    ]


def _names(code: DocumentedCode) -> list[str]:
    """Return the names of all parameters but the first one of a method."""
    if code.signature is None:
        return []
    args = code.signature.args
    names = [argument.arg for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _renamed(
    documented: Iterable[str], unknown: Sequence[str], missing: Sequence[str], names: Iterable[str]
) -> dict[str, str]:
    """Pair unknown and missing names that are alike, or alone between the same known names."""
    is_compared = len(unknown) * len(missing) <= _MOST_PAIRS
    alike = {
        new: [old for old in unknown if are_similar(old, new)]
        for new in (missing if is_compared else ())
    }
    times = Counter(old for olds in alike.values() for old in olds)
    found = {olds[0]: new for new, olds in alike.items() if [times[old] for old in olds] == [1]}
    old_gaps, new_gaps = _gaps(documented, unknown, missing), _gaps(names, missing, unknown)
    taken = set(found.values())
    for place, old_names in old_gaps.items() if len(unknown) == len(missing) else ():
        new_names = new_gaps.get(place, [])
        if len(old_names) == len(new_names) == 1 and new_names[0] not in taken:
            found.setdefault(old_names[0], new_names[0])
    return found


def _gaps(
    names: Iterable[str], wanted: Iterable[str], ignored: Iterable[str]
) -> dict[str, list[str]]:
    """Return the wanted names in a list, keyed by the last other name before them."""
    gaps: dict[str, list[str]] = {}
    last, sought, passed = "", {*wanted}, {*ignored, "self", "cls"}
    for name in names:
        if name in sought:
            gaps.setdefault(last, []).append(name)
        elif name not in passed:
            last = name
    return gaps


def _mentioned(code: Sequence[ast.stmt]) -> set[str]:
    """Return the names that code reads from elsewhere, such as `kwargs.pop("name")`."""
    nodes = [node for statement in code for node in ast.walk(statement)]
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _parameters_of_result(code: Sequence[ast.stmt]) -> set[str]:
    """Return the parameters of inner functions that code returns, such as those of decorators.

    In 40 packages, 3 of 65 findings about parameters were about such ones, all wrongly.
    """
    nodes = [node for statement in code for node in ast.walk(statement)]
    results = [part for node in nodes if isinstance(node, ast.Return) for part in ast.walk(node)]
    names = {part.id for part in results if isinstance(part, ast.Name)}
    inner = [node for node in nodes if isinstance(node, DEFINITIONS) and node.name in names]
    made = [*inner, *(part for part in results if isinstance(part, ast.Lambda))]
    return {part.arg for node in made for part in ast.walk(node) if isinstance(part, ast.arg)}
