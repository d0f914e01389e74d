"""Docstring summaries and descriptions derived from facts in the code.

Summaries are never made from the words of a name: they would add nothing.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.effects import is_none_or_missing, own_nodes, unqualified_name
from remora.code.syntax.source import Source
from remora.operations.docstring.code_quotes import code_text, negate
from remora.operations.docstring.parts import Describable, DocstringTexts, Parameter
from remora.operations.docstring.related_texts import RelatedTexts, comment_above, majority_text

_MIN_AGREEING = 3
_MAX_NAMES = 5
_ENUMS = frozenset(("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_ERRORS = ("Error", "Exception", "Warning")
_FOLDS = {
    "sum": "the sum of",
    "max": "the largest of",
    "min": "the smallest of",
    "sorted": "the sorted list of",
    "len": "the number of",
}


def suggested_summaries(
    node: DefinitionNode | ast.Module, source: Source, evidence: RelatedTexts
) -> list[str]:
    """Return distinct summaries that each state a fact, best first. May be empty."""
    found = [comment_above(node, source)]
    if isinstance(node, ast.ClassDef):
        found += _of_class(node, evidence)
    elif not isinstance(node, ast.Module):
        found += _of_function(node)
    return list(dict.fromkeys(as_sentence(text) for text in found if text))


def inherits_docstring(node: DefinitionNode | ast.Module, evidence: RelatedTexts) -> bool:
    name = getattr(node, "name", "")
    files = (evidence.own, *evidence.near)
    bases = [base for each in files for base in each.bases_of(evidence.owner)]
    return any((base, name) in each.methods for each in files for base in bases)


def describe_parts(
    node: DefinitionNode | ast.Module, source: Source, made_of: Describable, evidence: RelatedTexts
) -> DocstringTexts:
    """Return a description of each part for which the code or related files provide one."""
    if isinstance(node, ast.Module):
        return DocstringTexts()
    function = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return DocstringTexts(
        parameters={
            each.name: text
            for each in made_of.parameters
            if (text := _parameter(each, function, evidence))
        },
        attributes={
            each.name: text
            for each in made_of.attributes
            if (text := _noted(each, node, source) or _elsewhere(each, evidence))
        },
        outcome=as_sentence(_outcome(function, made_of)) if function is not None else "",
        raises={each.name: as_sentence(each.reason) for each in made_of.raises if each.reason},
    )


def as_sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else f"{text}."


def join_words(names: Sequence[str], last: str = "and") -> str:
    """Join names as in `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def _of_function(node: FunctionNode) -> Iterator[str]:
    body = [each for each in node.body if not isinstance(each, ast.Pass)]
    if len(body) != 1:
        return
    known = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    if isinstance(body[0], ast.Return) and body[0].value is not None:
        text = _computed(body[0].value, node, known)
        yield f"return {text}" if text else ""
    elif isinstance(body[0], ast.Assign | ast.AugAssign):
        yield _assignment(body[0], known)


def _assignment(statement: ast.Assign | ast.AugAssign, known: Collection[str]) -> str:
    """Describe a function's only statement, as in `` set `self.state` to `CLOSED` ``."""
    target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    holder = target.value if isinstance(target, ast.Subscript) else target
    value, place = code_text(statement.value, known), code_text(target, known)
    if not isinstance(holder, ast.Attribute) or not value or not place:
        return ""
    if isinstance(statement, ast.Assign):
        return f"set {place} to {value}"
    return f"add {value} to {place}" if isinstance(statement.op, ast.Add) else ""


def _of_class(node: ast.ClassDef, evidence: RelatedTexts) -> Iterator[str]:
    bases = [unqualified_name(base) for base in node.bases]
    if bases and any(base.endswith(_ERRORS) for base in (*bases, node.name)):
        yield from _of_error(node, evidence)
    elif _ENUMS.intersection(bases):
        yield from _of_members(node)


def _of_error(node: ast.ClassDef, evidence: RelatedTexts) -> Iterator[str]:
    below = evidence.own.subclasses.get(node.name, ())
    if len(below) > 1:
        shown = _quoted(below) if len(below) <= _MAX_NAMES else f"{len(below)} others"
        yield f"base class of {shown}"
    everywhere = (evidence.own, *evidence.near)
    raisers = [name for each in everywhere for name in each.raisers.get(node.name, ())]
    public = list(dict.fromkeys(name for name in raisers if not name.startswith("_")))
    if 0 < len(public) <= 3:
        yield f"raised by {_quoted(public)}"


def _of_members(node: ast.ClassDef) -> Iterator[str]:
    names = [
        target.id
        for each in node.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    if 1 < len(names) <= _MAX_NAMES + 2:
        yield f"one of {_quoted(names, 'or')}"


def _quoted(names: Iterable[str], last: str = "and") -> str:
    return join_words([f"`{name}`" for name in names], last)


def _parameter(parameter: Parameter, node: FunctionNode | None, evidence: RelatedTexts) -> str:
    found = _elsewhere(parameter, evidence)
    if found or node is None or parameter.kind:
        return found
    text = _choices(parameter, node) or _fallback(parameter, node)
    return as_sentence(text or _called(parameter, node) or _examples(parameter, node, evidence))


def _elsewhere(parameter: Parameter, evidence: RelatedTexts) -> str:
    """Return the description that other docstrings give to a parameter of the same name.

    If at least two docstrings of the class describe it and all agree, their description is used.
    Otherwise, most descriptions in the folder must agree.
    """
    files = (evidence.own, *evidence.near)
    found = [each for file in files for each in file.parameters if each.name == parameter.name]
    of_class = [each.text for each in found if evidence.owner and each.owner == evidence.owner]
    if len(of_class) > 1 and len(set(of_class)) == 1:
        return of_class[0]
    return majority_text([each.text for each in found], least=_MIN_AGREEING)


def _choices(parameter: Parameter, node: FunctionNode) -> str:
    found: dict[str, None] = {}
    compared = [each for each in own_nodes(node.body) if isinstance(each, ast.Compare)]
    for each in sorted(compared, key=lambda each: (each.lineno, each.col_offset)):
        if _is(each.left, parameter) and len(each.ops) == 1:
            found |= dict.fromkeys(_strings(each.ops[0], each.comparators[0]))
    return f"one of {join_words(list(found), 'or')}" if 1 < len(found) <= 6 else ""


def _strings(operator: ast.cmpop, value: ast.expr) -> Iterator[str]:
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(
        value, ast.Tuple | ast.List | ast.Set
    ):
        for each in value.elts:
            yield from _strings(ast.Eq(), each)
    elif isinstance(operator, ast.Eq | ast.NotEq) and isinstance(value, ast.Constant):
        yield from [code_text(value)] if isinstance(value.value, str) and value.value else []


def _fallback(parameter: Parameter, node: FunctionNode) -> str:
    """Return the value that replaces None, as in `if x is None: x = …` or `x = x or …`."""
    if parameter.default != "None":
        return ""
    known = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    for each in node.body:
        value: ast.expr | None = None
        if isinstance(each, ast.If) and _is_unset(each.test, parameter) and len(each.body) == 1:
            value = _assigned(each.body[0], parameter)
        elif isinstance(given := _assigned(each, parameter), ast.BoolOp):
            value = given.values[-1] if isinstance(given.op, ast.Or) else None
        text = code_text(value, known)
        if text:
            return f"{text} if None"
    return ""


def _is_unset(test: ast.expr, parameter: Parameter) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is(test.operand, parameter)
    if not isinstance(test, ast.Compare) or not _is(test.left, parameter):
        return False
    return isinstance(test.ops[0], ast.Is) and is_none_or_missing(test.comparators[0])


def _assigned(statement: ast.stmt, parameter: Parameter) -> ast.expr | None:
    if isinstance(statement, ast.Assign) and _is(statement.targets[0], parameter):
        return statement.value
    return None


def _is(node: ast.AST, parameter: Parameter) -> bool:
    return isinstance(node, ast.Name) and node.id == parameter.name


def _called(parameter: Parameter, node: FunctionNode) -> str:
    known = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    for each in own_nodes(node.body):
        if isinstance(each, ast.Call) and _is(each.func, parameter) and not each.keywords:
            given = [code_text(argument, known) for argument in each.args]
            if given and all(given) and len(given) < 4:
                return f"called with {join_words(given)}"
    return ""


def _examples(parameter: Parameter, node: FunctionNode, evidence: RelatedTexts) -> str:
    places = (evidence.own, *evidence.callers)
    key = (node.name, parameter.name)
    found = dict.fromkeys(text for each in places for text in each.constants.get(key, ()))
    found.pop(f"`{parameter.default}`", None)
    return f"for example {join_words(list(found)[:3], 'or')}" if found else ""


def _noted(attribute: Parameter, node: DefinitionNode, source: Source) -> str:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and getattr(each.target, "id", "") == attribute.name:
            line = source.line(each.end_lineno or each.lineno)[each.end_col_offset or 0 :]
            text = line.decode("utf-8", "replace").strip()
            if text.startswith("#") and text.isprintable() and len(text.split()) > 2:
                return as_sentence(text.lstrip("#: "))
    return ""


def _outcome(node: FunctionNode, made_of: Describable) -> str:
    """Return a description of the returned value without a final period. May be empty."""
    if made_of.outcome != "returns":
        return ""
    known = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    given = [each for each in own_nodes(node.body) if isinstance(each, ast.Return)]
    values = [
        each.value
        for each in given
        if each.value is not None and not is_none_or_missing(each.value)
    ]
    absent = _none_if(node.body, known) if len(given) > len(values) else ""
    if absent:
        return f"None {absent}"
    if len(values) != 1 or len(given) != 1:
        return ""
    return _computed(values[0], node, known) or _quoted_code(values[0], node, known)


def _computed(value: ast.expr, node: FunctionNode, known: Collection[str]) -> str:
    """Describe what an expression computes, as in `the sum of …` or `True if …`."""
    if isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp):
        condition = code_text(value, known)
        return f"True if {condition}" if condition and _is_bool(node) else ""
    if isinstance(value, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return _comprehended(value, known)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
        fold = _FOLDS.get(value.func.id) if not value.keywords else None
        operand = _operand(value.args[0], known)
        return f"{fold} {operand}" if fold and operand else ""
    return ""


def _quoted_code(value: ast.expr, node: FunctionNode, known: Collection[str]) -> str:
    """Return the quoted expression if it is the whole body of a function with a return type."""
    alone = len([each for each in node.body if not isinstance(each, ast.Expr)]) == 1
    informative = isinstance(value, ast.Call | ast.Subscript | ast.BinOp | ast.IfExp)
    typed = node.returns is not None  # without a type, NumPy style would show it as the type
    return code_text(value, known) if alone and informative and typed else ""


def _operand(value: ast.expr, known: Collection[str]) -> str:
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return _comprehended(value, known)
    return code_text(value, known)


def _comprehended(
    value: ast.ListComp | ast.GeneratorExp | ast.SetComp, known: Collection[str]
) -> str:
    """Describe a comprehension, as in `` `line.price` for each `line` of `lines` ``."""
    if len(value.generators) != 1 or not isinstance(value.generators[0].target, ast.Name):
        return ""
    loop = value.generators[0]
    inner = {*known, value.generators[0].target.id}
    over, name = code_text(loop.iter, known), code_text(loop.target, inner)
    element = code_text(value.elt, inner)
    tests = [code_text(test, inner) for test in loop.ifs]
    if not over or not element or not all(tests):
        return ""
    text = f"{element} for each {name} of {over}" if element != name else f"each {name} of {over}"
    return f"{text} where {join_words(tests)}" if tests else text


def _is_bool(node: FunctionNode) -> bool:
    return isinstance(node.returns, ast.Name) and node.returns.id == "bool"


def _none_if(body: Sequence[ast.stmt], known: Collection[str]) -> str:
    """Return the condition of the only `return None` if it is at the function's top level."""
    reasons: list[str] = []
    for number, each in enumerate(body):
        if isinstance(each, ast.If) and len(each.body) == 1 and _returns_none(each.body[0]):
            reasons.append(code_text(each.test, known))
        elif _returns_none(each):
            before = body[number - 1] if number else None
            test = negate(before.test) if isinstance(before, ast.If) else None
            reasons.append(code_text(test, known))
    every = [
        each for each in own_nodes(body) if isinstance(each, ast.Return) and _returns_none(each)
    ]
    return f"if {reasons[0]}" if len(reasons) == len(every) == 1 and reasons[0] else ""


def _returns_none(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) and is_none_or_missing(statement.value)
