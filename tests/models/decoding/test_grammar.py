"""Generated grammars, read back by a small independent translation into regular expressions."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from remora.chat import ToolSchema
from remora.models.decoding.grammar import tool_call_grammar, tool_call_schema
from tests.models.decoding.written_calls import parse_call

_PART = re.compile(
    r'"(?P<literal>(?:[^"\\]|\\.)*)"|(?P<set>\[(?:[^\]\\]|\\.)*\])|(?P<rule>[a-z][a-z0-9-]*)'
    r"|(?P<repeat>\{[0-9,]+\})|(?P<other>[()|?*])|\s+"
)


def as_regex(grammar: str) -> str:
    """For grammars without recursion: every rule is put in place of its name."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.strip("\n").split("\n"))

    def expand(body: str) -> str:
        out = []
        at = 0
        while at < len(body):
            part = _PART.match(body, at)
            assert part is not None, f"not GBNF: {body[at:]}"
            at = part.end()
            if part["literal"] is not None:
                text = re.sub(r"\\(.)", r"\1", part["literal"])
                out.append(f"(?:{re.escape(text)})")
            elif part["rule"]:
                out.append(f"(?:{expand(rules[part['rule']])})")
            else:
                other = part["other"]
                out.append(
                    part["set"] or part["repeat"] or ("(?:" if other == "(" else other) or ""
                )
        return "".join(out)

    return expand(rules["root"])


def sentence(name: str, args: dict[str, Any]) -> str:
    text = json.dumps({"tool": name, "args": args}, separators=(",", ":"), ensure_ascii=False)
    return text.replace("\x7f", r"\u007f")  # a control character, though JSON takes it as it is


def test_a_grammar_byte_for_byte() -> None:
    tools = [
        ToolSchema(name="stop"),
        ToolSchema(
            name="edit",
            parameters={
                "properties": {"path": {"enum": ["a.py"]}, "line": {"type": "integer"}},
                "required": ["line"],
            },
        ),
    ]
    assert tool_call_grammar(tools) == (
        r'root ::= "{\"tool\":\"stop\",\"args\":" "{}" "}"'
        r' | "{\"tool\":\"edit\",\"args\":" t1 "}"'
        "\n"
        r't1-0 ::= "\"a.py\""'
        "\n"
        r't1-r1 ::= "," "\"line\":" integer'
        "\n"
        r't1 ::= "{" ("\"path\":" t1-0 t1-r1 | "\"line\":" integer) "}"'
        "\n"
        r'integer ::= "-"? ("0" | [1-9] [0-9]{0,14})'
        "\n"
    )


def leaf() -> st.SearchStrategy[tuple[dict[str, Any], st.SearchStrategy[Any]]]:
    """A schema and its values."""
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    words = st.lists(text, min_size=1, max_size=3, unique=True)
    return st.one_of(
        st.just(({"type": "string"}, text)),
        st.just(({"type": "string", "maxLength": 3}, text.map(lambda t: t[:3]))),
        st.just(({"type": "integer"}, st.integers(-(10**15) + 1, 10**15 - 1))),
        st.just(({"type": "number"}, st.integers(-999, 999).map(lambda n: n / 8))),
        st.just(({"type": "boolean"}, st.booleans())),
        st.just(({"type": "null"}, st.none())),
        st.just(({"type": ["integer", "null"]}, st.none() | st.integers(-9, 9))),
        st.just(({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, text | st.booleans())),
        words.map(lambda w: ({"enum": w}, st.sampled_from(w))),
    )


Typed = tuple[dict[str, Any], st.SearchStrategy[Any]]


def array(item: Typed) -> Typed:
    return {"type": "array", "items": item[0], "maxItems": 3}, st.lists(item[1], max_size=3)


def object_of(members: list[tuple[Typed, bool]]) -> Typed:
    properties = {f"p{i}": schema for i, ((schema, _), _) in enumerate(members)}
    required = [f"p{i}" for i, (_, needed) in enumerate(members) if needed]
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    mandatory = {f"p{i}": values for i, ((_, values), needed) in enumerate(members) if needed}
    optional = {f"p{i}": values for i, ((_, values), needed) in enumerate(members) if not needed}
    drawn = st.fixed_dictionaries(mandatory, optional=optional)
    return schema, drawn.map(lambda d: {k: d[k] for k in properties if k in d})


def typed() -> st.SearchStrategy[Typed]:
    return st.recursive(
        leaf(),
        lambda inner: st.one_of(
            inner.map(array), st.lists(st.tuples(inner, st.booleans()), max_size=3).map(object_of)
        ),
        max_leaves=4,
    )


tools = st.lists(st.tuples(typed(), st.booleans()), max_size=4).map(object_of)


@given(st.data())
def test_every_valid_call_is_a_sentence_and_parses_to_itself(data: st.DataObject) -> None:
    schema, values = data.draw(tools)
    args = data.draw(values)
    tool = ToolSchema(name="run", parameters=schema)
    text = sentence("run", args)
    assert re.fullmatch(as_regex(tool_call_grammar([tool])), text)
    call = parse_call(text, [tool])
    assert (call.tool, call.args) == ("run", args)


def test_a_control_character_is_escaped_in_a_sentence() -> None:
    schema = {"properties": {"s": {"type": "string"}}, "required": ["s"]}
    regex = as_regex(tool_call_grammar([ToolSchema(name="run", parameters=schema)]))
    assert re.fullmatch(regex, sentence("run", {"s": "\x00\x1f\x7f"}))
    assert not re.fullmatch(regex, '{"tool":"run","args":{"s":"\x7f"}}')


@given(st.data())
def test_a_call_without_a_required_argument_is_not_a_sentence(data: st.DataObject) -> None:
    schema, values = data.draw(tools.filter(lambda t: bool(t[0]["required"])))
    args = data.draw(values)
    del args[data.draw(st.sampled_from(schema["required"]))]
    tool = ToolSchema(name="run", parameters=schema)
    assert not re.fullmatch(as_regex(tool_call_grammar([tool])), sentence("run", args))


@pytest.mark.parametrize(
    "text",
    [
        sentence("other", {"line": 1}),
        sentence("run", {}),
        sentence("run", {"line": "1"}),
        sentence("run", {"line": 1.5}),
        sentence("run", {"line": 1, "more": 2}),
        sentence("run", {"line": 10**15}),
        '{"tool": "run", "args": {"line": 1}}',
        '{"tool":"run","args":{"line":01}}',
        sentence("run", {"line": 1}) + " ",
    ],
)
def test_what_is_not_the_declared_call_is_not_a_sentence(text: str) -> None:
    schema = {"properties": {"line": {"type": "integer"}}, "required": ["line"]}
    regex = as_regex(tool_call_grammar([ToolSchema(name="run", parameters=schema)]))
    assert re.fullmatch(regex, sentence("run", {"line": 1}))
    assert not re.fullmatch(regex, text)


@pytest.mark.parametrize("escape", [r"\ud800", r"\uDfff", r"\x41", "\n", '"'])
def test_a_string_cannot_hold_what_is_not_text(escape: str) -> None:
    schema = {"properties": {"s": {"type": "string"}}, "required": ["s"]}
    regex = as_regex(tool_call_grammar([ToolSchema(name="run", parameters=schema)]))
    start, end = '{"tool":"run","args":{"s":"', '"}}'
    assert re.fullmatch(regex, rf"{start}\u00e9\n\" é{end}")
    assert not re.fullmatch(regex, start + escape + end)


@pytest.mark.parametrize(
    ("text", "begins", "is_sentence"),
    [
        ("Add an item.", "([A-SU-Z]|T[a-gi-z])", True),
        ("The item.", "([A-SU-Z]|T[a-gi-z])", False),
        ("Add.", "([A-SU-Z]|T[a-gi-z])", False),
        ("Add an\nitem.", "([A-SU-Z]|T[a-gi-z])", False),
        ("If it is late.", "If", True),
        ("When it is late.", "If", False),
    ],
)
def test_a_line_may_have_to_begin_in_a_way(text: str, begins: str, is_sentence: bool) -> None:
    pattern = rf'^{begins}[^\x00-\x1f"\\]{{5,20}}$'
    schema = {"type": "string", "minLength": 5, "maxLength": 20, "pattern": pattern}
    tool = ToolSchema(name="t", parameters={"properties": {"s": schema}, "required": ["s"]})
    call = json.dumps({"tool": "t", "args": {"s": text}}, separators=(",", ":"))
    assert bool(re.fullmatch(as_regex(tool_call_grammar([tool])), call)) == is_sentence


def test_definitions_may_be_recursive() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"$defs": {"node": node}, "properties": {"first": {"$ref": "#/$defs/node"}}}
    grammar = tool_call_grammar([ToolSchema(name="run", parameters=schema)])
    assert "t0-d0 ::= t0-d0-b\n" in grammar
    assert r'("\"next\":" t0-d0)?' in grammar


def test_a_reference_to_nowhere_is_an_error_of_the_schema() -> None:
    schema = {"properties": {"x": {"$ref": "#/$defs/none"}}}
    with pytest.raises(ValueError, match="none"):
        tool_call_grammar([ToolSchema(name="run", parameters=schema)])


def test_no_tools_no_grammar() -> None:
    with pytest.raises(ValueError, match="at least one tool"):
        tool_call_grammar([])


def test_a_schema_allows_the_calls_of_all_tools_and_no_others() -> None:
    link = {"type": "object", "properties": {"next": {"$ref": "#/$defs/link"}}}
    chain = {"$defs": {"link": link}, "properties": {"first": {"$ref": "#/$defs/link"}}}
    line = {"properties": {"line": {"type": "integer"}}, "required": ["line"]}
    tools = [ToolSchema(name="follow", parameters=chain), ToolSchema(name="read", parameters=line)]
    validator = Draft202012Validator(tool_call_schema(tools))
    valid = [
        {"tool": "follow", "args": {"first": {"next": {"next": {}}}}},
        {"tool": "read", "args": {"line": 1}},
    ]
    invalid = [
        {"tool": "follow", "args": {"first": {"next": 1}}},
        {"tool": "read", "args": {"line": 1, "more": 2}},
        {"tool": "read", "args": {}},
        {"tool": "follow", "args": {"line": 1}},
        {"tool": "read"},
        {"tool": "none", "args": {}},
    ]
    assert all(map(validator.is_valid, valid))
    assert not any(map(validator.is_valid, invalid))


def test_no_tools_no_schema() -> None:
    with pytest.raises(ValueError, match="at least one tool"):
        tool_call_schema([])
