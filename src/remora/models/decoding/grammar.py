"""Grammar and JSON Schema for one tool call, `{"tool":"NAME","args":{…}}`, from the tools' schemas.

A grammar in GBNF cannot express ranges, patterns, formats or unique items, so these are checked by
validation. Properties keep their declared order, which is the order that the model sees.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from remora.chat import ToolSchema

_DIGITS = 15  # a float represents every integer of 15 digits exactly
_ONE_LINE = re.compile(
    r"\^([A-Za-z()|]*(?:\[[\w-]+\][A-Za-z()|]*)*)(\[\^\\x00-\\x1f\"\\\\\]|\[ !#-\\\[\\\]-~\])"
    r"(\{\d+,\d+\})\$"
)
"""Beginning of the only patterns that a grammar expresses, such as `^([A-S]|Th)[^\\x00-\\x1f"\\\\]{0,72}$`.

Their characters are those of a line, or of one in ASCII, which keeps answers English. Quotes and
backslashes are not among them, because servers copy them into JSON.
"""
_HEAD = re.compile(r"(?<![\w\[-])([A-Za-z]+)(?![\w-]*\])")
"""Literal letters of such a beginning."""
_MAX_REPEATS = 2000  # llama.cpp refuses larger bounds

_TERMINALS = {
    # no escapes of surrogates, because half of a surrogate pair is not valid text
    "char": (
        r'[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" '
        r"([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex))"
    ),
    "hex": "[0-9a-fA-F]",
    "string": r'"\"" char* "\""',
    "integer": f'"-"? ("0" | [1-9] [0-9]{{0,{_DIGITS - 1}}})',
    "number": f'integer ("." [0-9]{{1,{_DIGITS}}})? ([eE] [-+]? [0-9]{{1,2}})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "value": "object | array | string | number | boolean | null",
    "object": r'"{" (member ("," member)*)? "}"',
    "member": r'string ":" value',
    "array": r'"[" (value ("," value)*)? "]"',
}
_NEEDS = {
    "string": ("char",),
    "char": ("hex",),
    "number": ("integer",),
    "value": ("object", "array", "string", "number", "boolean", "null"),
    "object": ("member",),
    "member": ("string", "value"),
    "array": ("value",),
}


def tool_call_grammar(tools: Iterable[ToolSchema]) -> str:
    """Return a grammar for all calls of `tools`. Raises ValueError if there are no tools."""
    made: dict[str, str] = {}
    used: set[str] = set()
    calls = []
    for number, tool in enumerate(tools):
        schema = closed_schema(tool.parameters)
        args = _Rules(f"t{number}", schema, made, used).value(f"t{number}", schema)
        start = _literal(f'{{"tool":{_json(tool.name)},"args":')
        calls.append(f"{start} {args} {_quote('}')}")
    if not calls:
        raise ValueError("a grammar needs at least one tool")
    lines = [f"root ::= {' | '.join(calls)}"]
    lines += [f"{name} ::= {body}" for name, body in made.items()]
    lines += [f"{name} ::= {body}" for name, body in _TERMINALS.items() if name in used]
    return "\n".join(lines) + "\n"


def tool_call_schema(tools: Iterable[ToolSchema]) -> dict[str, Any]:
    """Return a JSON Schema for all calls of `tools`. Raises ValueError if there are no tools."""
    calls, parts = [], {}
    for number, tool in enumerate(tools):
        ref = f"#/$defs/t{number}"
        parts[f"t{number}"] = _moved(closed_schema(tool.parameters), ref)
        properties = {"tool": {"const": tool.name}, "args": {"$ref": ref}}
        calls.append(closed_schema({"properties": properties, "required": [*properties]}))
    if not calls:
        raise ValueError("a JSON Schema needs at least one tool")
    return {"anyOf": calls, "$defs": parts}


def letter_grammar(letters: Iterable[str]) -> str:
    """Return a grammar for one of some letters."""
    return f"root ::= {' | '.join(map(_quote, letters))}\n"


def letter_schema(letters: Iterable[str]) -> dict[str, Any]:
    """Return a JSON Schema for one of some letters. It is an object, as some servers require."""
    return closed_schema({"properties": {"answer": {"enum": [*letters]}}, "required": ["answer"]})


def _moved(schema: Any, place: str) -> Any:
    """Return a schema whose references are right if it is at `place` in another schema."""
    if isinstance(schema, Mapping):
        return {
            key: f"{place}{value[1:]}"
            if key == "$ref" and isinstance(value, str)
            else _moved(value, place)
            for key, value in schema.items()
        }
    return [_moved(part, place) for part in schema] if isinstance(schema, list) else schema


def closed_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's parameters as an object schema that does not allow additional keys."""
    return {**parameters, "type": "object", "additionalProperties": False}


def resolve_ref(ref: str, top: Mapping[str, Any]) -> Any:
    """Return the target of a local `$ref` (`#/$defs/NAME`).

    Raises ValueError if the reference is not local or its target does not exist.
    """
    found: Any = top
    start, *steps = ref.split("/")
    for step in steps:
        key = step.replace("~1", "/").replace("~0", "~")
        if start != "#" or not isinstance(found, Mapping) or key not in found:
            raise ValueError(f"a tool's schema has an unresolved reference: {ref}")
        found = found[key]
    return found


class _Rules:
    """Grammar rules of one tool.

    Rules are added to `made`, keyed by name. The names of the terminals they need are added to
    `used`.
    """

    def __init__(
        self, prefix: str, top: Mapping[str, Any], made: dict[str, str], used: set[str]
    ) -> None:
        self._prefix = prefix
        self._top = top
        self._made = made
        self._used = used
        self._refs: dict[str, str] = {}

    def value(self, name: str, schema: Any) -> str:
        """Return an expression for the values that `schema` allows.

        The names of any added rules start with `name`.
        """
        if not isinstance(schema, Mapping):
            return self._terminal("value")
        if "$ref" in schema:
            return self._ref(schema["$ref"])
        if "const" in schema or "enum" in schema:
            allowed = schema["enum"] if "enum" in schema else [schema["const"]]
            return self._rule(name, " | ".join(_literal(_json(v)) for v in allowed))
        if (choices := _choices(schema)) is None:
            return self._value_of_type(name, schema)
        parts = [self.value(f"{name}-{i}", choice) for i, choice in enumerate(choices)]
        return self._rule(name, " | ".join(parts))

    def _value_of_type(self, name: str, schema: Mapping[str, Any]) -> str:
        match schema.get("type"):
            case "string" if "maxLength" in schema or "minLength" in schema:
                line = _ONE_LINE.match(str(schema.get("pattern", "")))
                if line:
                    head = _HEAD.sub(r'"\1"', line[1]) + " " if line[1] else ""
                    return self._rule(name, rf'"\"" {head}{line[2]}{line[3]} "\""')
                span = _repeat(schema.get("minLength", 0), schema.get("maxLength"))
                return self._rule(name, rf'"\"" {self._terminal("char")}{span} "\""')
            case "array":
                return self._rule(name, self._array(name, schema))
            case "object":
                return self._object(name, schema)
            case str(kind) if kind in _TERMINALS:
                return self._terminal(kind)
        return self._terminal("value")

    def _array(self, name: str, schema: Mapping[str, Any]) -> str:
        item = self.value(f"{name}-i", schema.get("items", {}))
        minimum, maximum = schema.get("minItems", 0), schema.get("maxItems")
        if maximum == 0:
            return '"[]"'
        repeat = _repeat(max(minimum - 1, 0), None if maximum is None else maximum - 1)
        items = f'{item} ("," {item}){repeat}'
        return f'"[" {items} "]"' if minimum else f'"[" ({items})? "]"'

    def _object(self, name: str, schema: Mapping[str, Any]) -> str:
        properties = schema.get("properties") or {}
        extra = schema.get("additionalProperties", True)
        if not properties:
            if extra is False:
                return _quote("{}")
            member = f"{self._terminal('string')} {_quote(':')} {self.value(f'{name}-v', extra)}"
            return self._rule(name, f'"{{" ({member} ("," {member})*)? "}}"')
        required = frozenset(schema.get("required", ()))
        pairs = [
            (f"{_literal(_json(key) + ':')} {self.value(f'{name}-{i}', value)}", key in required)
            for i, (key, value) in enumerate(properties.items())
        ]
        return self._rule(name, f"{_quote('{')} {self._members(name, pairs)} {_quote('}')}")

    def _members(self, name: str, pairs: list[tuple[str, bool]]) -> str:
        """Return an expression that matches the pairs in order, separated by commas.

        Optional pairs may be missing. `starts` contains the pairs that can come first: all pairs up
        to and including the first required pair. `after` is the expression for what may follow a
        pair.
        """
        after = ""
        starts: list[str] = []
        may_be_empty = True
        for index in range(len(pairs) - 1, -1, -1):
            pair, is_required = pairs[index]
            start = f"{pair} {after}".rstrip()
            starts = [start] if is_required else [start, *starts]
            may_be_empty = may_be_empty and not is_required
            following = f'"," {pair} {after}'.rstrip()
            if not is_required:
                following = f'("," {pair})? {after}'.rstrip()
            after = self._rule(f"{name}-r{index}", following) if index else ""
        group = f"({' | '.join(starts)})" if len(starts) > 1 else starts[0]
        return f"({' | '.join(starts)})?" if may_be_empty else group

    def _ref(self, ref: str) -> str:
        """Return the name of the rule for a definition.

        The name is assigned before the rule is built, so that definitions can be recursive.
        """
        if ref not in self._refs:
            name = self._refs[ref] = f"{self._prefix}-d{len(self._refs)}"
            self._made[name] = self.value(f"{name}-b", resolve_ref(ref, self._top))
        return self._refs[ref]

    def _rule(self, name: str, body: str) -> str:
        self._made[name] = body
        return name

    def _terminal(self, name: str) -> str:
        if name not in self._used:
            self._used.add(name)
            for needed in _NEEDS.get(name, ()):
                self._terminal(needed)
        return name


def _choices(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the alternatives of a union as schemas, or None if `schema` is not a union."""
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return list(schema[word])
    kinds = schema.get("type")
    return [{**schema, "type": kind} for kind in kinds] if isinstance(kinds, list) else None


def _repeat(least: int, most: int | None) -> str:
    """Return `*`, `{m,}` or `{m,n}`. Bounds that llama.cpp would reject are left to validation."""
    least = min(least, _MAX_REPEATS)
    if most is None or most > _MAX_REPEATS:
        return f"{{{least},}}" if least else "*"
    return f"{{{least},{most}}}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _literal(text: str) -> str:
    return _quote(text.replace("\\", "\\\\").replace('"', '\\"'))


def _quote(escaped: str) -> str:
    return f'"{escaped}"'
