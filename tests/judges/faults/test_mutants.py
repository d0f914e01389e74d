"""Mutants: each is Python, each is another program, and there are faults of every kind."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.judges.faults.fault_kinds import FaultKind
from remora.judges.faults.mutants import MAX_MUTANTS, find_function, foreign_lines, mutants

KINDS = {
    "return a < b": {"`a < b` became `a <= b`", "`a < b` became `a >= b`", "it returns None"},
    "return a + 1": {
        "`a + 1` became `a - 1`",
        "`1` became `2`",
        "`1` became `0`",
        "it returns None",
    },
    "return not a": {"the not of `not a` was removed", "it returns None"},
    "return a and b": {
        "`a and b` became `a or b`", "`a and b` became `a`", "`a and b` became `b`",
        "it returns None",
    },
    "return min(a, b)": {
        "`min(a, b)` became `a`", "`min(a, b)` became `b`",
        "it returns None",
    },
    "return True": {"`True` became `False`", "it returns None"},
    "return b(a, 'x')": {
        "two arguments of `b(a, 'x')` were swapped",
        "`'x'` became `'xx'`",
        "it returns None",
    },
    "if a:\n        return b": {"the condition `a` was negated", "it returns None"},
    "a.append(b)": {"`a.append(b)` was removed"},
    "raise ValueError('told')": {"`raise ValueError('told')` was removed"},
    "return f'{a} of 1'": {"it returns None"},
}  # fmt: skip
LINES = (
    "x = a + 1", "if a < b:\n        x = 2", "a.append(b)", "while not b:\n        b = a(b, 1)", '"""Said."""',
    "return a if b == 'k' else None", "raise ValueError(a)", "def inner(c):\n        return c * 2", "x += b // 3",
)  # fmt: skip


def source(body: str) -> bytes:
    return f"def f(a, b):\n    {body}\n".encode()


@pytest.mark.parametrize("body", KINDS)
def test_every_kind_of_fault(body: str) -> None:
    assert {mutant.what for mutant in mutants(source(body), "f")} == KINDS[body]


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8), st.integers(1, MAX_MUTANTS))
def test_each_is_another_function(lines: list[str], most: int) -> None:
    code = source("\n    ".join(lines))
    found = mutants(code + b"\n\ndef g(a):\n    return a + 1\n", "f", most)
    trees = [ast.parse(mutant.function) for mutant in found]
    assert len({*map(ast.dump, trees)}) == len(trees) <= most
    assert ast.dump(ast.parse(code)) not in map(ast.dump, trees)
    assert found == mutants(code, "f", most)


def test_no_kind_before_each_other_had_its_turn() -> None:
    code = source("\n    ".join(["x = 1 + 1 + 1 + 1 + 1", "if a:\n        b(a, x)", "return x"]))
    assert {m.what for m in mutants(code, "f", 8)} >= {
        "the condition `a` was negated",
        "two arguments of `b(a, x)` were swapped",
        "it returns None",
    }


def test_an_option_is_ignored_by_its_default() -> None:
    code = b"def f(a, b=2, *, c=3):\n    return a, b, c\n"
    ignored = [m for m in mutants(code, "f") if m.what.startswith("the argument")]
    assert [m.what for m in ignored] == ["the argument b was ignored", "the argument c was ignored"]
    assert ignored[0].function == "def f(a, b=2, *, c=3):\n    b = 2\n    return (a, b, c)\n"


@pytest.mark.parametrize(
    ("body", "ignored"),
    [
        ("return a", 0),
        ("del b\n    return a", 0),
        ("_ = b\n    return a", 0),
        ("b = a\n    return b", 0),
        ("b = a or b\n    return b", 1),
        ("if a:\n        b = 1\n    return b", 1),
        ("return lambda: b", 1),
        ("return a.format(**locals())", 1),
    ],
)
def test_an_argument_that_is_never_read_cannot_be_ignored(body: str, ignored: int) -> None:
    code = f"def f(a, b=2):\n    {body}\n".encode()
    said = [m.what for m in mutants(code, "f") if m.kind in (FaultKind.OPTION, FaultKind.CALL)]
    assert said == ["the argument b was ignored"] * ignored


def test_an_ignored_option_has_a_literal_default_and_is_of_the_function_itself() -> None:
    code = b"""\
K = 1
def f(a, b=K, c=-1):
    'Described.'
    def inner(d=2):
        return d
    return inner(c)
"""
    (ignored,) = [m for m in mutants(code, "f") if m.kind == FaultKind.OPTION]
    head = 'def f(a, b=K, c=-1):\n    """Described."""\n    c = -1\n'
    assert ignored.function.startswith(head)


def test_faults_of_a_nested_function_count() -> None:
    code = "def f(a):\n    def inner(row):\n        'Add.'\n        row[a] += row[0]\n    return g(inner)\n"
    assert [m.what for m in mutants(code.encode(), "f")] == [
        "`row[a] += row[0]` was removed",
        "`0` became `1`",
        "`0` became `-1`",
        "it returns None",
    ]


def test_a_method_by_its_qualname() -> None:
    code = b"class A:\n    def f(self):\n        return 1\n\n\ndef f():\n    return 5\n"
    assert mutants(code, "A.f")[0].function.startswith("class A:\n")
    assert mutants(code, "A.g") == mutants(b"def (", "f") == mutants(code, "A") == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ('if sys.platform == "win32":\n  a = 1\nelse:\n  a = 2\nreturn a', [1, 2]),
        ('if os.name != "nt":\n  return 1\na = 2\nreturn a', [1, 3, 4]),
        ('if platform.system().startswith("Win"):\n  return 1\nreturn 2', [1, 2]),
        ("for n in x:\n  if not core.IS_WINDOWS:\n    raise n\n  n()\nreturn 1", [2, 4]),
        ('if a == "win32" or twin:\n  return 1\nreturn 2', []),
    ],
)  # fmt: skip
def test_what_only_another_platform_runs_gets_no_fault(body: str, lines: list[int]) -> None:
    code = source(body.replace("\n", "\n    "))
    _, function = find_function(code, "f")
    assert function is not None
    assert foreign_lines(function.body) == {1 + line for line in lines}
    faulty = {mutant.line - 1 for mutant in mutants(code, "f", 99)}
    assert faulty
    assert faulty.isdisjoint(lines)


def test_types_get_no_fault() -> None:
    code = (
        b"def f(a):\n    b: int | None = a + 1\n    return cast(int | str, b) or t.cast('x', 2)\n"
    )
    whats = " ".join(fault.what for fault in mutants(code, "f"))
    assert "a - 1" in whats
    assert "&" not in whats
    assert "`'x'` became" not in whats
    assert "`2` became `3`" in whats
