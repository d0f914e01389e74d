"""Error messages for invalid configuration files and settings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remora.config.yaml_positions import KeyPath, ParsedYaml, place_of
from remora.text import did_you_mean

_NO_ENTRIES: Mapping[str, type[BaseModel]] = {}
_EXPECTED = {
    "missing": "this key",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_too_short": "a non-empty string",
}


def describe_errors(
    error: ValidationError,
    model: type[BaseModel],
    parsed: ParsedYaml,
    entries: Mapping[str, type[BaseModel]] = _NO_ENTRIES,
) -> list[str]:
    """Return one line per error, in the format `FILE:LINE:COLUMN: key: what is wrong`.

    `entries` maps the entries of mappings with arbitrary keys to
    their models.
    """
    found: dict[KeyPath, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False, include_context=False):
        path, _ = place_of(parsed, detail["loc"])
        if detail["type"] == "missing":
            path = tuple(detail["loc"])
        found.setdefault(path, []).append(detail)
    known = partial(known_keys, model, entries=entries)
    return [_line(path, details, parsed, known) for path, details in found.items()]


def known_keys(
    model: type[BaseModel],
    where: Sequence[str | int],
    entries: Mapping[str, type[BaseModel]] = _NO_ENTRIES,
) -> Iterator[str]:
    """Yield every dotted key of `model`.

    In mappings with arbitrary keys, the entry names come from `where` and from `entries`, which
    maps each entry to its model.
    """
    for name, field in model.model_fields.items():
        yield name
        inner = _nested(field.annotation)
        if inner is None:
            continue
        rest = where[1:] if where and where[0] == name else ()
        if getattr(field.annotation, "__origin__", None) is not dict:
            yield from (f"{name}.{key}" for key in known_keys(inner, rest))
            continue
        for entry, entry_model in {str(rest[0]) if rest else "NAME": inner, **entries}.items():
            yield from (f"{name}.{entry}.{key}" for key in known_keys(entry_model, rest[1:]))


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_nested, get_args(annotation))), None)


def _line(
    path: KeyPath,
    details: list[ErrorDetails],
    parsed: ParsedYaml,
    known: Callable[[KeyPath], Iterator[str]],
) -> str:
    key = ".".join(map(str, path)) or "the file"
    first = details[0]
    if first["type"] == "extra_forbidden":
        place = parsed.keys.get(path, place_of(parsed, path)[1])
        return f"{place}: unknown key {key}{did_you_mean(key, known(path))}"
    place = place_of(parsed, path)[1]
    if first["type"] == "missing":
        return f"{place}: missing key {key}"
    if path in parsed.keys and first["loc"][-1] == "[key]":
        return f"{parsed.keys[path]}: {key} is not a valid name"
    expected = " or ".join(dict.fromkeys(_expected(detail) for detail in details))
    got = "" if first["type"] == "value_error" else f", got {_got(first['input'])}"
    return f"{place}: {key}: expected {expected}{got}"


def _expected(detail: ErrorDetails) -> str:
    known = _EXPECTED.get(detail["type"])
    if known:
        return known
    message = detail["msg"].removeprefix("Value error, ").removeprefix("expected ")
    return re.sub(r"^(Input|String|Value) should (be|match|have) ?", "", message)


def _got(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
