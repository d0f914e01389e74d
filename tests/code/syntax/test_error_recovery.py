"""Files that do not parse keep their nodes, and those too costly to parse are refused."""

import random
import re
import threading
import time

import pytest

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.code.syntax.source import why_not_parsed
from tests.code.corpus import library, tree_of

KEPT = 0.97
WHOLE = '''"""A shop."""
import os


class Cart(Base):
    """What was chosen."""

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self.items)

    def pay(self, by: str) -> None:
        def inner(): pass
        if by:
            inner()


def last(a):
    return a
'''
NAMES = ["__module__", "Cart", "Cart.total", "Cart.pay", "Cart.pay.inner", "last"]


def broken(source: str | bytes) -> FileFacts:
    facts = read_facts("a.py", source if isinstance(source, bytes) else source.encode())
    assert facts.partial
    assert facts.detail
    return facts


def names(facts: FileFacts) -> list[str]:
    return [node.qualname for node in facts.nodes]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(self.items)", "(self.items"),
        ("import os", "import os as"),
        ("import os", "x = ("),
        ("import os", "<<<<<<< HEAD"),
        ("(self) -> int:", "(self -> int:"),
        ("(self) -> int:", "(self) -> int"),
        ("class Cart(Base):", "class Cart(Base:"),
        ("class Cart(Base):", "class Cart(Base)"),
        ("def last(a):", "def last(a:"),
        ("if by:", "if by"),
        ("            inner()", "            inner(]"),
        ('"""The sum."""', '""The sum."""'),
        ('"""The sum."""', '"""The sum.""'),
        ('"""What was chosen."""', '"""What was chosen.'),
        ("    @property", "    @property("),
        ("    @property", "    @"),
        ("        if by:", "  if by:"),
        ("        return sum", "return sum"),
        ("    return a", "return a"),
        ("        return sum(self.items)", "          return sum(self.items"),
    ],
)
def test_one_error_costs_no_definition(old: str, new: str) -> None:
    assert WHOLE.count(old) == 1
    facts = broken(WHOLE.replace(old, new))
    assert names(facts) == NAMES
    assert facts.nodes[3].signature == "def pay(self, by: str) -> None"


def test_parts_that_parse_are_unchanged() -> None:
    whole = read_facts("a.py", WHOLE.encode())
    facts = broken(WHOLE.replace("import os", "import os as") + "\nx = = 1\n")
    for node, before in zip(facts.nodes[1:], whole.nodes[1:], strict=True):
        assert node == before
    assert {call.scope for call in facts.lowered.calls} == {
        call.scope for call in whole.lowered.calls
    }
    assert (facts.nodes[0].docstring, facts.nodes[0].imports) == ("A shop.", ())


def test_a_broken_definition_keeps_its_header() -> None:
    head, body = 'def f(a: int) -> int:\n    "Doc."\n', "    if a: return [1\n    import x\n"
    node = broken(f"@d(1)\n{head}{body}").nodes[1]
    assert (node.signature, node.docstring) == ("def f(a: int) -> int", "Doc.")
    assert (node.decorators, node.has_type_hints) == (("@d(1)",), True)
    assert (node.line_start, node.line_count, node.docstring_outdated) == (1, 5, False)
    moved = broken(f"x = 1\n{head.replace('f(', 'g(')}{body}").nodes[1]
    assert node.body_hash == moved.body_hash
    assert node.source_hash != moved.source_hash


def test_a_broken_header_keeps_its_name() -> None:
    facts = broken(
        "async def f(a, b:\n    '''Do.\n\n    Args:\n        a: A.\n    '''\n    return 1\n"
        "class A(B:\n    def m(self): pass\n"
    )
    assert names(facts) == ["__module__", "f", "A", "A.m"]
    function, cls = facts.nodes[1:3]
    assert (function.signature, function.docstring) == ("async def f(…)", "Do.")
    assert (function.docstring_outdated, function.has_type_hints) == (False, False)
    assert (cls.signature, cls.bases, cls.line_count) == ("class A", (), 2)


def test_text_in_brackets_defines_nothing() -> None:
    text = '("""\nclass no:\n    def f(): pass\n@no\ndef no(): pass\nif no:\n    pass\n""")\n'
    source = (
        f"class A:\n    def a(self):\n        w{text}\n    def b(self:\n        x = [f{text}]\n"
    )
    assert names(broken(f"{source}def c(): return 1\n")) == ["__module__", "A", "A.a", "A.b", "c"]
    assert names(broken(f'{source}x = """open\ndef c():\n    """Doc."""\n'))[-1] == "c"


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    '''é'''\n    return 1\ndef g(): pass\n".encode("latin-1"),
        b"def f():\n    x = '\0'\n    return 1\ndef g(): pass\n",
        b"def f():\n    return 1\ndef g(): \0 pass\n",
        b"# coding: latin-9000\ndef f(): pass\ndef g(): pass\n",
        b"# coding: utf-7\ndef f(): pass\ndef g(): '+2AA-'\n",
        b"\xef\xbb\xbf# coding: latin-1\r\ndef f(: pass\rdef g(): pass\r",
        b"def f(:\n\tpass\n\x0cdef g(): pass\n",
        b"def f():\n\tpass\n        x\ndef g(): pass\n",
        b"x = " + b"-" * 100_000 + b"1\ndef f(): pass\ndef g(): pass\n",
        b"[" * 100_000 + b"\ndef f(): pass\ndef g(): pass\n",
        b"if a: pass\n" + b"elif a: pass\n" * 9_000 + b"def f(): pass\ndef g(): pass\n",
    ],
)
def test_files_that_python_rejects_as_a_whole(source: bytes) -> None:
    assert names(broken(source)) == ["__module__", "f", "g"]


@pytest.mark.parametrize(
    "deep",
    [
        b"x = a" + b".b()" * 20_000,
        pytest.param(b"x" + b".y" * 100_000, marks=pytest.mark.slow),
    ],
)
def test_the_functions_beside_what_only_newer_parsers_accept(deep: bytes) -> None:
    facts = read_facts("a.py", deep + b"\ndef f(): pass\ndef g(): pass\n")
    assert names(facts) == ["__module__", "f", "g"]


@pytest.mark.parametrize(
    "source",
    [
        b"x = " + b"lambda: " * 2_000 + b"1\n",
        b"x = " + b"f(" * 90 + b")" * 90 + b"\n",
        b"if a: pass\n" + b"elif a: pass\n" * 900,
        b"".join(b" " * depth + b"def f():\n" for depth in range(98)) + b" " * 98 + b"pass\n",
        b"".join(b" " * depth + b"def f():\n" for depth in range(100)) + b" " * 100 + b"pass\n",
        b"".join(b" " * depth + b"class A:\n" for depth in range(400)) + b" " * 400 + b"pass\n",
        b"def f(a=" + b"a()" + b"()" * 1_500 + b"): raise a" + b"()" * 1_500 + b"\n",
    ],
)
def test_deep_nesting_in_a_thread(source: bytes) -> None:
    found: list[FileFacts] = []
    thread = threading.Thread(target=lambda: found.append(read_facts("a.py", source)))
    thread.start()
    thread.join()
    levels = len(re.findall(rb"def |class ", source))
    assert len(found[0].nodes) > min(levels, 100)


def harmed(source: str, rng: random.Random) -> str:
    """Return the source with one random error."""
    place = rng.randrange(len(source))
    line = source.find("\n", place) + 1
    marks = [found.start() for found in re.finditer(r"[()\[\]{}:\"']", source)] or [place]
    mark = rng.choice(marks)
    return rng.choice(
        (
            source[:place] + source[place + 1 :],
            source[:mark] + source[mark + 1 :],
            source[:place] + rng.choice("()[]{}:,=.$?\"'") + source[place:],
            source[:place] + rng.choice((" def ", " if ", " x y ")) + source[place:],
            source[:line] + rng.choice(("foo bar\n", "    (\n", "<<<<<<<\n")) + source[line:],
            source[:line] + source[line:].lstrip(" "),
            source[:line] + "  " + source[line:],
        )
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_nearly_all_of_the_standard_library_is_kept(seed: int) -> None:
    rng = random.Random(seed)
    kept = there = errors = 0
    for path in library(step=12):
        source = path.read_bytes()
        if not source.isascii() or tree_of(source) is None or not source:
            continue
        before = {node.qualname for node in read_facts("a.py", source).nodes}
        wrong = harmed(source.decode(), rng)
        if tree_of(wrong.encode()) is None:
            after = {node.qualname for node in broken(wrong).nodes}
            errors, there, kept = errors + 1, there + len(before), kept + len(before & after)
    assert errors > 50
    assert kept >= KEPT * there, (kept, there)


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


SLOW = next(reason for reason, texts in REASONS.items() if texts is F_STRINGS)


@pytest.mark.parametrize(
    "reason",
    [pytest.param(reason, marks=[pytest.mark.slow] * (reason == SLOW)) for reason in REASONS],
)
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
    text = "." * 200 + "{" * 12_000 + part * (300_000 // len(part))
    began = time.process_time()
    why_not_parsed(text)
    assert time.process_time() - began < 1.0
