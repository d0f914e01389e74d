"""Arguments get the types that their tool declares, or are all declared as strings."""

from typing import Any

import pytest

from remora.chat import ToolSchema
from remora.models.decoding.argument_types import string_declaration, typed_arguments

TYPED = ToolSchema(
    name="place",
    description="Place a row.",
    parameters={
        "type": "object",
        "properties": {
            "line": {"type": "integer", "description": "Where."},
            "name": {"type": "string"},
            "rows": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["line"],
    },
)


class TestStringArguments:
    """Some servers keep only arguments that are strings, so all are declared as strings."""

    def test_every_argument_is_declared_as_a_string(self) -> None:
        declared = string_declaration(TYPED)
        assert (declared.name, declared.description) == ("place", "Place a row.")
        assert declared.parameters == {
            "type": "object",
            "properties": {
                "line": {"type": "string", "description": "Where."},
                "name": {"type": "string", "description": ""},
                "rows": {"type": "string", "description": ""},
            },
            "required": ["line"],
        }

    @pytest.mark.parametrize(
        ("given", "typed"),
        [
            ({"line": "3"}, {"line": 3}),
            ({"line": 3}, {"line": 3}),
            ({"name": "3"}, {"name": "3"}),
            ({"name": 3}, {"name": "3"}),
            ({"name": True}, {"name": "true"}),
            ({"rows": '["a", "b"]'}, {"rows": ["a", "b"]}),
            ({"line": "three"}, {"line": "three"}),
            ({"unknown": "x"}, {"unknown": "x"}),
        ],
    )
    def test_arguments_get_the_types_of_the_tool(
        self, given: dict[str, Any], typed: dict[str, Any]
    ) -> None:
        assert typed_arguments(given, TYPED) == typed
