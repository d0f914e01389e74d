"""What CPython's parser would need minutes or gigabytes for is refused at once."""

import time

import pytest

from remora.code.file_analysis import read_facts
from remora.code.syntax.source import why_not_parsed

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
    "continued import": "import a" + ".\\\n a" * 30_000,
    "letters that are not in \\w": "import a" + ".a·" * 30_000,
}


COMBINING = {
    "one row": "a" + "\u0315\u0300" * 200_000,
    "several rows": "a" + ("\u0315\u0300" * 10_000 + "a") * 10,
}
REASONS = {
    "its f-strings have too many parts for Python's parser": F_STRINGS,
    "its imports have names that are too long for Python's parser": DOTTED,
    "it has too many combining characters in a row for Python's parser": COMBINING,
}


@pytest.mark.parametrize(
    ("text", "reason"),
    [(text, reason) for reason, texts in REASONS.items() for text in texts.values()],
    ids=[name for texts in REASONS.values() for name in texts],
)
def test_a_text_that_takes_minutes_or_gigabytes_is_refused(text: str, reason: str) -> None:
    assert why_not_parsed(text) == reason


@pytest.mark.parametrize("reason", REASONS)
def test_the_rest_of_the_file_is_read(reason: str) -> None:
    began = time.process_time()
    facts = read_facts("a.py", f"{next(iter(REASONS[reason].values()))}\n\ndef f(): ...\n".encode())
    assert facts.detail == reason
    assert [node.node_name for node in facts.nodes] == ["__module__", "f"]
    assert time.process_time() - began < 4.0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = {" + "'a': {1: {}},\n" * 60_000 + "}", id="a table"),
        pytest.param("x = '''" + '{"a": {}}\n' * 60_000 + "'''", id="a text with braces"),
        pytest.param('# f"\n' + "{}\n" * 300_000, id="a comment"),
        pytest.param("def f(self):\n" + "    self.a.b.c(1.5)\n" * 45_000, id="attributes"),
        pytest.param("x = 'a" + ".b" * 400_000 + "'", id="a text with dots"),
        pytest.param("x = [" + "f'{a}{b}',\n" * 70_000 + "]", id="many f-strings"),
        pytest.param("x = '" + "😀─" * 100_000 + "'", id="emoji"),
        pytest.param("# " + "e\u0301\u0323" * 100_000, id="letters with marks"),
    ],
)
def test_other_large_files_are_parsed(text: str) -> None:
    assert why_not_parsed(text) == ""


PARTS = ('\\"', "'\"\\'", '"', "a", "a ", "a. ", ", ", "import ", ",.", "import a.", ".", "\\")


@pytest.mark.parametrize("part", [*PARTS, 'f"', 'f"{', "f'''{", "'\n{", "\u0315", "─", "9"])
def test_the_check_itself_takes_linear_time(part: str) -> None:
    text = "." * 200 + "{" * 12_000 + part * (900_000 // len(part))
    began = time.process_time()
    why_not_parsed(text)
    assert time.process_time() - began < 1.0
