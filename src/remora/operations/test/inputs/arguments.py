"""Calls that a test could make of a function, those that a reader recognizes first."""

import ast
import re
from collections.abc import Iterator
from itertools import product

from msgspec.structs import replace

from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.inputs.sample_values import constructor_call, values_of
from remora.operations.test.inputs.sibling_arguments import sibling_calls
from remora.operations.test.inputs.type_check import contradicts
from remora.operations.test.target_function import TargetFunction

MAX_CALLS = 48
_MOST_INVENTED = 32
_MOST_OWNERS = 2
_ENOUGH = 3
"""Number of shown calls for which no arguments of siblings are needed."""
_LONGEST = 160
_MOST_COMBINED = 3
"""Number of values of a parameter that are tried with several values of the others."""
_SURROUNDINGS = re.compile(
    r"\b(sys|platform|tempfile)\.|\bos\.(?!path\b)|\b(argv|environ|__file__)\b"
)
"""Names in a call whose values depend on where the test runs."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def candidate_calls(subject: TargetFunction, examples: ProjectExamples) -> list[CallInput]:
    """Return up to `MAX_CALLS` calls of the function.

    Calls in documentation come first, followed by calls in the project's code, by calls with the
    arguments of siblings if there are few others, and then by calls whose values are chosen by use,
    name and type. Calls that contradict annotations are left out.
    """
    found = examples.calls_of(subject)
    found += sibling_calls(subject, examples) if len(found) < _ENOUGH else []
    found += invented_calls(subject, examples)
    return [each for each in found if not why_unfit(subject, each)][:MAX_CALLS]


def why_unfit(subject: TargetFunction, given: CallInput) -> str:
    """Return why a test should not make a call, or an empty string."""
    if contradicts(subject, given.call):
        return "an argument contradicts its annotation"
    if any(_SURROUNDINGS.search(text) for text in (given.call, *given.setup)):
        return "it depends on where it runs"
    return ""


def invented_calls(subject: TargetFunction, examples: ProjectExamples) -> list[CallInput]:
    """Return calls whose values are chosen by use, name and type.

    The list is empty if there is no such value for a required parameter.
    """
    found: list[CallInput] = []
    for receiver in _receivers(subject, examples):
        for words in _arguments(subject):
            call = f"{receiver.call}({words})"
            if len(call) <= _LONGEST:
                found.append(replace(receiver, call=call))
    return list(dict.fromkeys(found))[:_MOST_INVENTED]


def _receivers(subject: TargetFunction, examples: ProjectExamples) -> Iterator[CallInput]:
    """Yield the parts of calls before the arguments, such as `cart.add` after `cart = Cart()`."""
    owner = subject.owner
    if owner is None:
        yield CallInput(call=subject.qualname)
        return
    made = [replace(each, source="call") for each in examples.objects_of(owner.name, subject)]
    if not made:
        made = [CallInput(call=text) for text in constructor_call(owner, _classes(subject))]
    name = _CAMEL.sub("_", owner.name).lower().strip("_")
    if name in (owner.name, subject.module.partition(".")[0]):
        name = "instance"
    for each in made[:_MOST_OWNERS]:
        setup = (*each.setup, f"{name} = {each.call}")
        call = f"{name}.{subject.function.name}"
        yield replace(each, call=call, setup=setup, source="value")


def _arguments(subject: TargetFunction) -> Iterator[str]:
    """Yield argument lists based on use, types, names and defaults.

    The first list uses the best value of each parameter. Later lists use other values for one or
    more parameters.
    """
    classes, args, constants = _classes(subject), subject.parameters, _constants(subject)
    positional = [*args.posonlyargs, *args.args][subject.implied :]
    first_default = len(positional) - len(args.defaults)
    values: dict[str, list[str]] = {}
    required: list[str] = []
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        (arg, args.defaults[n - first_default] if n >= first_default else None)
        for n, arg in enumerate(positional)
    ]
    for arg, default in (*pairs, *zip(args.kwonlyargs, args.kw_defaults, strict=True)):
        values[arg.arg] = values_of(arg, default, subject.function, classes, constants)
        required += [arg.arg] if default is None else []
    if args.vararg is not None:
        return  # how many arguments make sense is unknown
    by_place = {arg.arg for arg in positional}
    for chosen in _combinations(values, required):
        words = [
            text if name in by_place and name in required else f"{name}={text}"
            for name, text in chosen.items()
        ]
        yield ", ".join(words)


def _combinations(values: dict[str, list[str]], required: list[str]) -> Iterator[dict[str, str]]:
    if not all(values[name] for name in required):
        return
    base: dict[str, str] = {}
    for name in required:  # two parameters have different values if possible
        others = [text for text in values[name] if text not in base.values()]
        base[name] = (others or values[name])[0]
    yield base
    for number in range(1, max((len(texts) for texts in values.values()), default=0) + 1):
        for name, texts in values.items():
            if number < len(texts) or (texts and name not in base and number == len(texts)):
                text = texts[number] if number < len(texts) else texts[0]
                if text not in base.values():  # two equal arguments show little
                    yield {**base, name: text}
        several = {n: values[n][number] for n in required if number < len(values[n])}
        if len(several) > 1:
            yield {**base, **several}
    yield from _other_options(values, base)
    yield from _products({name: values[name] for name in required})


def _other_options(values: dict[str, list[str]], base: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield options with other values than the best, which they may change."""
    others = {name: values[name][1] for name in base if len(values[name]) > 1}
    for name, texts in values.items():
        if others and name not in base:
            yield from ({**base, **others, name: text} for text in texts[:2])


def _products(values: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    """Yield combinations of the best values, for branches that depend on several parameters."""
    if len(values) > 1:
        for texts in product(*(each[:_MOST_COMBINED] for each in values.values())):
            yield dict(zip(values, texts, strict=True))


def _classes(subject: TargetFunction) -> dict[str, ast.ClassDef]:
    return {one.name: one for one in subject.source.tree.body if isinstance(one, ast.ClassDef)}


def _constants(subject: TargetFunction) -> dict[str, ast.expr]:
    """Return the values of the module's top-level names that are assigned once."""
    found: dict[str, ast.expr] = {}
    for one in subject.source.tree.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
    return found
