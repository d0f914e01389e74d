"""What CPython's parser would need minutes or gigabytes for is refused at once."""

import time

import pytest

from remora.code.file_analysis import read_facts
from remora.code.syntax.parse_cost import why_not_parsed

MANY = 200_000
F_STRINGS = {
    "one line": 'f"' + "{a}" * MANY + '"',
    "many lines": 'f"""' + "{a}\n" * MANY + '"""',
    "single quotes": "rf'" + "{a}" * MANY + "'",
    "upper case": 'F"' + "{a}" * MANY + '"',
    "formats": 'f"' + "{a:{b}}" * (MANY // 2) + '"',
    "escapes": 'f"' + '\\"{a}' * MANY + '"',
    "continued lines": 'f"' + "{a}\\\r\n" * MANY + '"',
    "after quotes in a comment": '# "\n(f"' + "{a}" * MANY + '")',
    "after quotes in a string": '"\'", f"' + "{a}" * MANY + '"',
    "several": "(" + ('f"' + "{a}" * (MANY // 3) + '"\n') * 3 + ")",
}
DOTTED = {
    "import": "import a" + ".a" * 30_000,
    "second": "import b, a" + ".a" * 30_000,
    "relative": "from . .. a" + ".a" * 30_000 + " import b",
    "from": "from a" + ".a" * 30_000 + " import b",
    "spaces": "import a" + " . a" * 30_000,
    "continued lines": "import a" + ".\\\n a" * 30_000,
    "letters that are not in \\w": "import a" + ".a·" * 30_000,
}


@pytest.mark.parametrize("text", F_STRINGS.values(), ids=F_STRINGS)
def test_an_f_string_with_too_many_parts_is_refused_and_the_rest_is_read(text: str) -> None:
    began = time.process_time()
    facts = read_facts("a.py", f"x = {text}\n\n\ndef f(): ...\n".replace("x = #", "#").encode())
    assert facts.detail == "its f-strings have too many parts for Python's parser"
    assert [node.node_name for node in facts.nodes] == ["__module__", "f"]
    assert time.process_time() - began < 4.0


@pytest.mark.parametrize("text", DOTTED.values(), ids=DOTTED)
def test_a_dotted_name_that_is_too_long_is_refused_and_the_rest_is_read(text: str) -> None:
    facts = read_facts("a.py", f"{text}\n\n\ndef f(): ...\n".encode())
    assert facts.detail == "its imports have names that are too long for Python's parser"
    assert [node.node_name for node in facts.nodes] == ["__module__", "f"]


@pytest.mark.parametrize(
    "row",
    ["\u0315\u0300" * 200_000, ("\u0315\u0300" * 10_000 + "a") * 10],
    ids=["one row", "several rows"],
)
def test_a_name_with_too_many_combining_characters_is_refused(row: str) -> None:
    began = time.process_time()
    facts = read_facts("a.py", f"a{row} = 1\n\n\ndef f(): ...\n".encode())
    assert facts.detail == "it has too many combining characters in a row for Python's parser"
    assert [node.node_name for node in facts.nodes] == ["__module__", "f"]
    assert time.process_time() - began < 4.0


@pytest.mark.parametrize(
    "text",
    [
        "x = {" + "'a': {1: {}},\n" * 60_000 + "}",
        "x = '''" + '{"a": {}}\n' * 60_000 + "'''",
        '# f"\n' + "{}\n" * 300_000,
        "def f(self):\n" + "    self.a.b.c(1.5)\n" * 45_000,
        "x = 'a" + ".b" * 400_000 + "'",
        "x = [" + "f'{a}{b}',\n" * 70_000 + "]",
        "x = '" + "😀─" * 100_000 + "'",
        "# " + "e\u0301\u0323" * 100_000,
    ],
    ids=[
        "a table",
        "a text with braces",
        "a comment",
        "attributes",
        "a text with dots",
        "many f-strings",
        "emoji",
        "letters with marks",
    ],
)
def test_other_large_files_are_parsed(text: str) -> None:
    assert why_not_parsed(text) == ""


@pytest.mark.parametrize(
    "part",
    [
        '\\"',
        "'\"\\'",
        '"',
        "a",
        "a ",
        "a. ",
        ", ",
        "import ",
        ",.",
        "import a.",
        ".",
        "\\",
        'f"',
        'f"{',
        "f'''{",
        "'\n{",
        "\u0315",
        "─",
        "9",
    ],
)
def test_the_check_itself_takes_linear_time(part: str) -> None:
    text = "." * 200 + "{" * 12_000 + part * (900_000 // len(part))
    began = time.process_time()
    why_not_parsed(text)
    assert time.process_time() - began < 1.0
