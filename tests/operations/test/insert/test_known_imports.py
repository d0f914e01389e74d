"""A module is imported under one name."""

import ast

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.known_imports import with_known_imports

CASE = Case(
    call="mqtt.Client(mqtt.V1).pack()", imports=("import paho.mqtt.client as mqtt",), value="mqtt.X"
)


@pytest.mark.parametrize(
    ("file", "call", "imports"),
    [
        ("from paho.mqtt import client", "client.Client(client.V1).pack()", ()),
        (
            "from paho.mqtt.client import Other",
            "Client(V1).pack()",
            tuple(f"from paho.mqtt.client import {name}" for name in ("Client", "V1", "X")),
        ),
        ("import paho.mqtt.packet", CASE.call, CASE.imports),
    ],
)
def test_names_of_the_test_file(file: str, call: str, imports: tuple[str, ...]) -> None:
    found = with_known_imports(CASE, ast.parse(file))
    assert (found.call, found.imports) == (call, imports)


def test_a_variable_of_that_name_keeps_its_import() -> None:
    case = Case(call="client.pack()", setup=("client = mqtt.Client()",), imports=CASE.imports)
    assert with_known_imports(case, ast.parse("from paho.mqtt import client")) == case


def test_texts_keep_their_quotes() -> None:
    case = Case(call="mqtt.Client()", imports=CASE.imports, value="'text'")
    assert with_known_imports(case, ast.parse("from paho.mqtt import client")).value == "'text'"
