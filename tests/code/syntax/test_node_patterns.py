"""Node patterns and suggestions, as in `--node` and `accept RUN NODE`."""

import pytest

from remora.code.syntax.node_patterns import file_pattern, match_nodes, nearest
from remora.ids import NodeKey

KEYS = [
    NodeKey(f"node:{name}")
    for name in (
        *("src/a.py:__module__", "src/a.py:load", "src/a.py:Loader.load", "src/b.py:load"),
        *("src/b.py:load#2", "odd[1].py:run", "odd1.py:run", "x/c.py:f", "y/c.py:f"),
    )
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("load", ["src/a.py:load", "src/b.py:load"]),
        ("src/a.py:load", ["src/a.py:load"]),
        ("node:src/a.py:load", ["src/a.py:load"]),
        ("Loader.*", ["src/a.py:Loader.load"]),
        ("src/a.py:*", ["src/a.py:__module__", "src/a.py:load", "src/a.py:Loader.load"]),
        ("load#?", ["src/b.py:load#2"]),
        ("odd[1].py:run", ["odd[1].py:run"]),
        ("odd[12].py:run", ["odd1.py:run"]),
        ("a.py", ["src/a.py:__module__"]),
        ("b.py:load", ["src/b.py:load"]),
        ("c.py:f", []),
        (".py:load", []),
        ("LOAD", []),
        ("oad", []),
        ("[", []),
    ],
)
def test_patterns(pattern: str, found: list[str]) -> None:
    assert [key.removeprefix("node:") for key in match_nodes(KEYS, pattern)] == found


def test_the_pattern_of_a_file_whose_name_looks_like_a_glob() -> None:
    keys = [NodeKey("node:a[1].py:f"), NodeKey("node:a1.py:f"), NodeKey("node:a[1].py:__module__")]
    assert match_nodes(keys, file_pattern("a[1].py")) == (keys[0], keys[2])


def test_the_nearest_names() -> None:
    assert nearest("laod", KEYS, 2) == ("node:src/a.py:Loader.load", "node:src/a.py:load")
    assert nearest("src/b.py:laod", KEYS)[0] == "node:src/b.py:load"
    assert nearest("LOADER.LOAD", KEYS)[0] == "node:src/a.py:Loader.load"
    assert nearest("zzzzzz", KEYS) == ()
    assert nearest("docstrin", ["lint", "docstring"]) == ("docstring",)
    assert len(nearest("load", KEYS, 1)) == 1
