"""Loading: what a script declares, and what is said of one that is wrong."""

import ast
import itertools
import os
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import NotFound, ScriptError
from remora.pym import Script, examine, load, load_source
from remora.pym.declarations import top_level_statements

GREETING = '''"""Greets someone.

At length.
"""

from __future__ import annotations

from typing import Any, Literal

from remora.pym import Input, external

name: str = Input("name", description="whom to greet")
mode: Literal["warm", "cold"] = Input(
    "mode",
    default="warm",
)
times: int | None = Input("times", default=None)


@external
# looks a person up
async def find(who: str, *, deep: bool = False) -> dict[str, Any]:
    """Find someone."""
    ...


@external
def add(a: int, b: int = 2) -> int: ...


person = await find(name)
f"{mode} {person["title"]} {name}"
'''


def refused(source: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        load_source(source, name="tool")
    return caught.value


@pytest.fixture(scope="module")
def greeting() -> Script:
    return load_source(GREETING, name="greet")


def test_inputs_become_a_schema_in_declared_order(greeting: Script) -> None:
    assert list(greeting.parameters["properties"]) == ["name", "mode", "times"]
    assert greeting.parameters == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "whom to greet"},
            "mode": {"enum": ["warm", "cold"], "default": "warm"},
            "times": {"type": ["integer", "null"], "default": None},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_externals_and_description_are_read(greeting: Script) -> None:
    find, add = greeting.externals

    assert (find.name, find.is_async, find.returns) == ("find", True, "dict[str, Any]")
    assert [(each.name, each.annotation, each.required) for each in find.params] == [
        ("who", "str", True),
        ("deep", "bool", False),
    ]
    assert (add.is_async, [each.required for each in add.params]) == (False, [True, False])
    assert greeting.description == "Greets someone.\n\nAt length."


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("list[str]", {"type": "array", "items": {"type": "string"}}),
        ("List[int]", {"type": "array", "items": {"type": "integer"}}),
        ("dict", {"type": "object"}),
        ("dict[str, int]", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("dict[str, Any]", {"type": "object"}),
        ("Optional[str]", {"type": ["string", "null"]}),
        ("Union[int, list[int]]", None),
        ("typing.Literal[1, 'a']", {"enum": [1, "a"]}),
        ("'int | str'", {"type": ["integer", "string"]}),
        ("Any", {}),
        ("int | Any", {}),
        ("int | str | None", {"type": ["integer", "string", "null"]}),
    ],
)
def test_annotations_become_json_schema(annotation: str, schema: dict[str, object] | None) -> None:
    source = (
        "import typing\nfrom typing import Any, List, Optional, Union\nfrom grail import Input\n"
        f'x: {annotation} = Input("x")\nx\n'
    )
    found = load_source(source, name="t").parameters["properties"]["x"]

    if schema is None:
        integers = {"type": "array", "items": {"type": "integer"}}
        schema = {"anyOf": [{"type": "integer"}, integers]}
    assert found == schema


@pytest.mark.parametrize(
    ("source", "kind", "line", "says"),
    [
        ("x = 1\ny = x +\n", "syntax", 2, "Expected an expression"),
        ("\n\nclass A(dict):\n    pass\n", "syntax", 3, "class inheritance"),
        ("(" * 50_000, "syntax", 1, "too deeply nested"),
        ('\nx: int = "a"\n', "typing", 2, "not assignable"),
        ("import numpy\n", "typing", 1, "numpy"),
        ("1\nopen('/etc/passwd')\n", "typing", 2, "open"),
        ("from grail import Input\ndef f():\n    return Input('x')\n", "typing", 3, "Input"),
        ("from grail import Input\nx: int = Input(3)\n", "contract", 2, "must be a string"),
        ('from grail import Input\nx = [Input("x")]\n', "typing", 2, "Input"),
        (
            'from grail import Input\nx: int = Input("a")\ny: str = Input("a")\n',
            "contract",
            3,
            "declared differently in line 2",
        ),
        ('from grail import Input\nx: int = Input("x", default=f())\n', "contract", 2, "literals"),
        ('from grail import Input\nx: int = Input("x", default="a")\n', "typing", 2, "default"),
        ('from grail import Input\nx: int = Input("x", min=3)\n', "contract", 2, "Input accepts"),
        ('from grail import Input\nx: int = Input("x"); 1\n', "contract", 2, "on its own line"),
        ("from grail import external as e\n", "contract", 1, "without `as`"),
        ("from grail import external\n@external\nclass A: ...\n", "contract", 2, "a function"),
        (
            "from grail import external\n@external\ndef f() -> int:\n    return 1\n",
            "contract",
            2,
            "host implements",
        ),
        (
            "from grail import external\n@external\ndef f() -> int: ...\nf().upper()\n",
            "typing",
            4,
            "upper",
        ),
        (
            "from grail import external\n@external\nasync def f() -> int: ...\nf() + 1\n",
            "typing",
            4,
            "Coroutine",
        ),
        (
            'from grail import Input\nx: int = Input("x")\nx: str = Input("x")\n',
            "contract",
            3,
            "declared twice",
        ),
    ],
)
def test_load_errors_name_their_line(source: str, kind: str, line: int, says: str) -> None:
    error = refused(source)

    assert (error.kind, error.line) == (kind, line)
    assert error.message.startswith(f"tool.pym:{line}: ")
    assert says in error.message
    assert "\n" not in error.message


def test_types_are_checked_against_classes_of_the_script_itself() -> None:
    source = """from grail import external

class Point:
    def __init__(self, x: int):
        self.x = x

@external
def where() -> Point: ...

where().y
"""
    error = refused(source)

    assert (error.kind, error.line) == ("typing", 10)


def test_all_that_is_wrong_is_found(tmp_path: Path) -> None:
    path = tmp_path / "bad.pym"
    path.write_text('x: int = "a"\n\ny: str = 3\n')

    script, errors = examine(path)

    assert script is None
    assert [error.line for error in errors] == [1, 3]


def test_lines_stay_those_of_the_file_with_windows_endings_and_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "tool.pym"
    path.write_bytes(b'\xef\xbb\xbffrom grail import Input\r\nx: int = Input("x")\r\nx + ""\r\n')

    with pytest.raises(ScriptError, match=r"^tool\.pym:3: "):
        load(path)


def test_a_file_that_is_not_utf8_says_where(tmp_path: Path) -> None:
    path = tmp_path / "tool.pym"
    path.write_bytes(b"x = 1\ny = '\xff'\n")

    with pytest.raises(ScriptError, match=r"^tool\.pym:2: not UTF-8"):
        load(path)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No such file"):
        load(tmp_path / "none.pym")


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.pym"
    path.write_bytes(b"#" * (256 * 1024 + 1))

    with pytest.raises(ScriptError, match="larger than"):
        load(path)


def test_editors_find_words_that_do_nothing() -> None:
    from remora.pym import Input, external

    def function() -> int:
        return 1

    assert external(function) is function
    assert Input("x", default=3) == 3


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pym")
    with pytest.raises(NotFound, match="not a regular file"):
        examine(tmp_path / "pipe.pym")


@pytest.mark.parametrize("source", ["x" * 300_000, "x = 1" + " + 1" * 60_000])
def test_what_is_wrong_with_no_one_line_is_reported_at_the_first(
    tmp_path: Path, source: str
) -> None:
    (tmp_path / "s.pym").write_text(source)
    script, errors = examine(tmp_path / "s.pym")
    assert script is None
    assert all(error.message.startswith("s.pym:1: ") for error in errors)


STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
CLAUSES = ("else", "elif", "except", "finally")


def starts(source: str) -> set[int]:
    return {span.first for span in top_level_statements(source)}


def starts_by_ast(source: str) -> set[int]:
    decorated = [(node, getattr(node, "decorator_list", [])) for node in ast.parse(source).body]
    return {
        min([node.lineno, *(decorator.lineno for decorator in decorators)])
        for node, decorators in decorated
    }


def agrees_with_ast(source: str) -> bool:
    lines = source.split("\n")
    found = {line for line in starts(source) if not lines[line - 1].startswith(CLAUSES)}
    # a second statement after `;` has no line of its own
    return found == starts_by_ast(source)


@pytest.mark.parametrize("folder", ["json", "email", "asyncio", "unittest"])
def test_agrees_with_the_parser_on_the_standard_library(folder: str) -> None:
    for path in sorted((STANDARD_LIBRARY / folder).glob("*.py")):
        assert agrees_with_ast(path.read_text(encoding="utf-8")), path


@pytest.mark.slow
def test_agrees_with_the_parser_on_all_of_the_standard_library() -> None:
    checked = 0
    for path in sorted(STANDARD_LIBRARY.glob("*.py")):
        assert agrees_with_ast(path.read_text(encoding="utf-8")), path
        checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    "expression",
    [
        'f"{d["a"]}"',
        'f"{"nested" + f"{"deeper"}"}"',
        'f"{x!r:>{width}}"',
        'f"{{not a field"',
        'f"{\n    x  # a comment with } and "\n}"',
        "f'''{\nx\n}\n'''",
        r'f"\N{BULLET} {x}"',
        r'rf"\{x}"',
        '"\\\n"',
        "'''a ' b '' c'''",
        r'br"\\"',
        "{1: (2, [3,\n4])}",
    ],
)
def test_a_string_of_any_python_hides_what_is_in_it(expression: str) -> None:
    first = f"a = {expression}"
    source = f"{first}\nb = 1\n"

    assert [span.first for span in top_level_statements(source)] == [1, first.count("\n") + 2]


def test_decorators_belong_to_what_they_decorate() -> None:
    spans = top_level_statements("@a\n# why\n@b(\n  1)\nasync def f():\n    pass\nx = 1\n")

    assert [(span.first, span.last) for span in spans] == [(1, 6), (7, 8)]


@given(st.text(alphabet=st.sampled_from("abf'\"{}()[]:#\\\n @=rN"), max_size=60))
def test_any_text_is_cut_into_lines_without_loss(source: str) -> None:
    spans = top_level_statements(source)

    for before, after in itertools.pairwise(spans):
        assert before.last + 1 == after.first
    if spans:
        lines = source.split("\n")
        text = "\n".join(span.text for span in spans)
        assert text == "\n".join(lines[spans[0].first - 1 :])


def test_deep_nesting_ends() -> None:
    assert len(top_level_statements('f"{' * 5000)) == 1
