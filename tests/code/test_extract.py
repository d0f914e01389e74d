"""Nodes of a file: keys, spans, hashes, signatures, on real and unusual code."""

import ast
import hashlib
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, Node, node_at_line, own_lines
from remora.code.syntax.source import Unreadable
from remora.ids import split_node_key


def module(text: str | bytes, path: str = "a.py") -> Module:
    source = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    parsed = parse_module(path, source)
    assert isinstance(parsed, Module), parsed
    return parsed


def node(text: str | bytes, qualname: str) -> Node:
    return next(node for node in module(text).nodes if node.qualname == qualname)


def names(text: str) -> list[str]:
    return [node.qualname for node in module(text).nodes[1:]]


def definitions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for found in ast.walk(tree):
        if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield found


def test_keys_nest_and_repeats_are_numbered_in_source_order() -> None:
    text = """
        class Outer:
            def inner(self): pass
            @property
            def x(self): pass
            @x.setter
            def x(self, value): pass
        def f():
            def inner(): pass
        def f():
            def inner(): pass
            def inner(): pass
        class f: pass
        """
    assert names(text) == [
        *("Outer", "Outer.inner", "Outer.x", "Outer.x#2"),
        *("f", "f.inner", "f#2", "f#2.inner", "f#2.inner#2", "f#3"),
    ]
    last = node(text, "f#2.inner#2")
    assert (last.key, last.parent) == ("node:a.py:f#2.inner#2", "node:a.py:f#2")


def test_definitions_in_every_kind_of_block() -> None:
    text = """
        if a:
            def f_if(): pass
        elif b:
            def f_elif(): pass
        else:
            def f_else(): pass
        try:
            def f_try(): pass
        except E:
            def f_except(): pass
        else:
            def f_try_else(): pass
        finally:
            def f_finally(): pass
        try: pass
        except* E:
            def f_star(): pass
        with a:
            def f_with(): pass
        for x in y:
            def f_for(): pass
        else:
            def f_for_else(): pass
        while x:
            def f_while(): pass
        match x:
            case 1:
                def f_case(): pass
            case _:
                async def f_default():
                    async with a:
                        class C: pass
        """
    assert names(text) == [
        *("f_if", "f_elif", "f_else", "f_try", "f_except", "f_try_else", "f_finally", "f_star"),
        *("f_with", "f_for", "f_for_else", "f_while", "f_case", "f_default", "f_default.C"),
    ]


def test_a_path_is_spelled_only_in_the_key() -> None:
    parsed = module("def f(): pass", "odd%/\udcff.py")
    assert parsed.nodes[1].key == "node:odd%25/%FF.py:f"
    assert parsed.nodes[1].path == parsed.path == "odd%/\udcff.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def foo(x: int) -> str: pass", "def foo(x: int) -> str"),
        ("async def f(a, /, b=1, *c, d='x', **e): pass", "async def f(a, /, b=1, *c, d='x', **e)"),
        ("def f(\n    a,  # one\n    b=(1,\n       2),\n): pass", "def f(a, b=(1, 2))"),
        ("class A: pass", "class A"),
        ("class A(B, metaclass=M): pass", "class A(B, metaclass=M)"),
        ("@deco(1)\ndef f(): 'doc'", "def f()"),
        ("def f(a='\\n\\ud800'): pass", "def f(a='\\n\\ud800')"),
        ("def f(a='x  \ty'): pass", "def f(a='x  \\ty')"),
        (f"def f(a={'+'.join('a' * 900)}): pass", "def f(…)"),
        (f"def f(a=0x{'f' * 9000}): pass", "def f(…)"),
    ],
)
def test_signatures(text: str, expected: str) -> None:
    assert module(text).nodes[1].signature == expected


def test_a_signature_is_one_line() -> None:
    found = node("def f(a=f'''\n{b}''', c='\\u2028'): pass", "f").signature
    assert found is not None
    assert len(found.splitlines()) == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('"""One.\n\n    Two."""', "One."),
        ('"""\n\n    One.\n    """', "One."),
        ('"""  """', ""),
        ("'a\\ud800'", "a\\ud800"),
        ("b'no'", None),
        ("f'no'", None),
        ("pass", None),
    ],
)
def test_docstrings(body: str, expected: str | None) -> None:
    assert node(f"def f():\n    {body}", "f").docstring == expected
    assert node(body, "__module__").docstring == expected


def test_a_span_includes_decorators() -> None:
    text = """
        import x
        @staticmethod
        @  x.y(
            1)
        def f(): pass

        @(  # why
            x
        )
        class A: pass
        """
    first, second = module(text).nodes[1:]
    assert first.decorators == ("@staticmethod", "@x.y(\n    1)")
    assert (first.line_start, first.line_end, first.line_count) == (3, 6, 4)
    assert second.decorators == ("@x",)
    assert (second.line_start, second.line_end) == (8, 11)


def test_own_lines_exclude_nested_nodes() -> None:
    parsed = module("""\
        import x
        class A:
            a = 1
            @x
            def m(self):
                def inner(): pass
                return inner
            b = 2
        x
        """)
    keys = [found.key for found in parsed.nodes]
    assert [sorted(own_lines(parsed, key)) for key in keys] == [[1, 9], [2, 3, 8], [4, 5, 7], [6]]
    assert [node_at_line(parsed, line) for line in (4, 6, 7, 8, 9)] == [
        keys[i] for i in (2, 3, 2, 1, 0)
    ]
    assert node_at_line(parsed, 0) == node_at_line(parsed, 99) == parsed.key


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_hash_includes_all_line_ends_but_the_last(end: str) -> None:
    source = f"import x{end}def f():{end}    return 1{end}{end}{end}x{end}".encode()
    found = node(source, "f")
    span = f"def f():{end}    return 1".encode()
    assert (found.line_start, found.line_end) == (2, 3)
    assert found.source_hash == hashlib.sha256(span).hexdigest()
    assert module(source).line_count == 6
    whole = source.removesuffix(end.encode())
    assert module(source).nodes[0].source_hash == hashlib.sha256(whole).hexdigest()


def test_lines_end_where_python_ends_them() -> None:
    source = "a = '\x0b\x85\u2028'\n\x0c\ndef f(): pass\n".encode()
    assert node(source, "f").line_start == 3


def test_the_body_hash_depends_only_on_the_body() -> None:
    same = {
        node(text, name).body_hash
        for text, name in [
            ("def f():\n    x = 1\n    return x\n", "f"),
            ("def g(a):\n    'doc'\n    x = 1\n    return x\n", "g"),
            ("class A:\n @d\n def f(self):\n  '''doc'''\n  x = 1\n  return x\n", "A.f"),
            ("def f():\r\n    x = 1\r\n    return x", "f"),
        ]
    }
    assert len(same) == 1
    assert node("def f():\n    x = 2\n    return x\n", "f").body_hash not in same
    assert node("def f(): return 1", "f").body_hash == node("def f():\n  return 1", "f").body_hash
    assert node("def f(): 'doc'", "f").body_hash == hashlib.sha256(b"").hexdigest()
    decorated = [node(f"class A:\n    @{name}\n    def f(self): pass", "A") for name in "ab"]
    assert decorated[0].body_hash != decorated[1].body_hash


@pytest.mark.parametrize("source", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_a_module(source: bytes) -> None:
    (only,) = module(source).nodes
    assert (only.node_type, only.line_start) == ("module", 1)
    assert only.line_end == only.line_count == len(source.splitlines())


@pytest.mark.parametrize(
    ("source", "encoding"),
    [
        ("# coding: latin-1\ndef f():\n    x = 'é'; return x\n".encode("latin-1"), "iso-8859-1"),
        ("\ufeffdef f():\n    x = 'é'; return x\n".encode(), "utf-8-sig"),
        ("def f():\n    x = 'é'; return x\n".encode(), "utf-8"),
        ("# -*- coding:utf8 -*-\ndef f():\n    x = 'é'; return x\n".encode(), "utf-8"),
        ("# a\r# coding: latin-1\rdef f():\r x = 'é'; return x\r".encode("latin-1"), "iso-8859-1"),
    ],
)
def test_encodings(source: bytes, encoding: str) -> None:
    parsed = module(source)
    assert parsed.encoding == encoding
    assert parsed.nodes[1].body_hash == hashlib.sha256("x = 'é'; return x".encode()).hexdigest()


@pytest.mark.parametrize(
    ("source", "line", "detail"),
    [
        (b"x = 1\ndef f(:\n", 2, "line 2: invalid syntax"),
        (b"x = 1\ny = '\0'", 2, "line 2: contains a NUL byte"),
        (b"x = 1\n\n\ny = '\xff'", 4, "line 4: not valid utf-8: invalid start byte"),
        (b"# coding: latin-9000\n", 1, "line 1: unknown encoding: latin-9000"),
        (b"# coding: rot13\n", 1, "line 1: the declared encoding cannot decode the file"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "line 1: encoding problem: utf-8"),
        (b"# coding: unicode_escape\nx = 1 # \\n\n", None, "decoding as unicode_escape changes"),
        (b"# coding: utf-7\nx = '+2AA-'\n", None, "surrogates not allowed"),
        (b"x = " + b"-" * 100_000 + b"1", None, "nested too deeply"),
        (b"if a: pass\n" + b"elif a: pass\n" * 9000, None, "nested too deeply"),
        (b"[" * 100_000, 1, "line 1: too many nested parentheses"),
        (b"  x = 1", 1, "line 1: unexpected indent"),
        (b"print 'a'", 1, "line 1: Missing parentheses"),
        (b"x = " + b"9" * 9000, 1, "line 1: Exceeds the limit"),
    ],
)
def test_unreadable_files(source: bytes, line: int | None, detail: str) -> None:
    found = parse_module("a.py", source)
    assert isinstance(found, Unreadable)
    assert (found.path, found.line) == ("a.py", line)
    assert detail in found.detail
    assert "\n" not in found.detail


def test_syntax_warnings_are_suppressed() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert names("x = '\\d'; 1 is 1; 1or 2\ndef f(): pass") == ["f"]
    assert caught == []


@pytest.mark.process
def test_deep_nesting_in_a_thread_does_not_end_the_process() -> None:
    script = """
import threading
from remora.code.extract import parse_module
def work():
    for source in ("-" * 10**6 + "1", "x" + ".y" * 10**5, "(" * 199 + ")" * 199):
        parse_module("a.py", source.encode())
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.stdout, done.returncode) == (b"alive\n", 0), done.stderr


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        ("def f(): pass  # remora: skip\ndef g(): pass", {"f"}),
        ("def f(  # remora:skip\n  a,\n): pass", {"f"}),
        ("def f(\n  a,\n):  #remora: skip (generated)\n  pass", {"f"}),
        ("@d\nclass A:  # noqa  # remora: skip\n  def m(self): pass", {"A", "A.m"}),
        ("# x\n# remora: skip\n'''doc'''\ndef f(): pass", {"__module__", "f"}),
        ("'''doc'''\n# remora: skip\nimport x", {"__module__"}),
        ("# remora: skip", {"__module__"}),
        ("import x\n# remora: skip\n", set()),
        ("import x  # remora: skip", set()),
        ("def f():\n  # remora: skip\n  pass", set()),
        ("def f(a='# remora: skip'): pass", set()),
        ("'''\n# remora: skip\n'''", set()),
        ("def f(): pass  # remora: skipping", set()),
        ("@d  # remora: skip\ndef f(): pass", set()),
    ],
)
def test_skip_comments(text: str, skipped: set[str]) -> None:
    assert {found.qualname for found in module(text).nodes if found.skip} == skipped


TREES = st.recursive(
    st.sampled_from(["pass", "x = 1", "'doc'", "x = '''\n\n'''", "# remora: skip\npass"]),
    lambda inner: st.builds(
        lambda heads, blocks: "\n".join(
            f"{head}\n{textwrap.indent(block, '  ')}"
            for head, block in zip(heads, blocks, strict=False)
        ),
        st.lists(
            st.sampled_from(
                [
                    "def f(a, b=1):",
                    "@d\n@(\n  e)\nclass A(B):",
                    "async def g():",
                    "if x:",
                    "for x in y:",
                ]
            ),
            min_size=1,
        ),
        st.lists(inner, min_size=1),
    ),
    max_leaves=12,
)


@given(TREES)
def test_nested_nodes_partition_the_lines(text: str) -> None:
    parsed = module(text.encode())
    keys = [found.key for found in parsed.nodes]
    assert len(set(keys)) == len(keys) == 1 + len(list(definitions(ast.parse(text))))
    owned = sorted(line for key in keys for line in own_lines(parsed, key))
    assert owned == list(range(1, parsed.line_count + 1))
    for found in parsed.nodes:
        assert all(node_at_line(parsed, line) == found.key for line in own_lines(parsed, found.key))
        assert found.parent is None or split_node_key(found.parent)[0] == "a.py"


def test_recent_files_are_cached_unless_very_large() -> None:
    source = b"def f():\n    return 1\n"
    assert parse_module("a.py", source) is parse_module("a.py", bytes(bytearray(source)))
    assert parse_module("b.py", source) != parse_module("a.py", source), "keys hold the path"
    large = source + b"#" * 300_000
    assert parse_module("a.py", large) is not parse_module("a.py", large)
