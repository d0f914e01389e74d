"""Links without a changed input stay valid after an edit."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.code.callgraph.incremental import AliasDigest, invalidated
from remora.code.callgraph.linker import Linker, NodeLinks
from remora.ids import split_node_key
from tests.code.callgraph.project import Project
from tests.code.callgraph.test_linker import PIECES

Files = Mapping[str, str]


class Recorded:
    """All links of one state, with their inputs."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.project = Project(files)
        linker = Linker(self.project, track_inputs=True)
        self.links: dict[str, NodeLinks] = {key: linker.links(key) for key in self.project.keys}
        self.digests: dict[str, AliasDigest] = {
            key: linker.alias_digest(key) for key in sorted(linker.alias_dependent)
        }

    def valid_links(self, later: Files) -> dict[str, NodeLinks]:
        """Return the links that are considered valid for `later`; check the alias digests too."""
        paths = {*self.files, *later}
        edited = {path for path in paths if self.files.get(path) != later.get(path)}
        project = Project(later)
        linker = Linker(project, track_inputs=True)
        before = {path: self.project.lowered(path) for path in edited}
        changed, renewed = invalidated(project, linker.alias_digest, before, self.digests)
        for key in self.digests.keys() - renewed.keys():
            assert linker.alias_digest(key).names == self.digests[key].names, key
        return {
            key: linked
            for key, linked in self.links.items()
            if split_node_key(key)[0] not in edited and not linked.inputs & changed
        }


def assert_valid(links: Mapping[str, NodeLinks], later: Files) -> None:
    project = Project(later)
    linker = Linker(project, track_inputs=True)
    for key, linked in links.items():
        assert linked[:2] == linker.links(key)[:2], key


SHAPES = {
    "pkg/__init__.py": "from pkg.shapes import *\n",
    "pkg/shapes.py": (
        "class Shape:\n"
        "    def area(self):\n"
        "        return 1\n"
        "class Square(Shape):\n"
        "    pass\n"
        "def make():\n"
        "    return Square()\n"
    ),
    "use.py": (
        "import pkg\n"
        "def direct():\n"
        "    pkg.Square().area()\n"
        "def made():\n"
        "    pkg.make().area()\n"
        "def other():\n"
        "    print()\n"
    ),
}


def after(path: str, old: str, new: str) -> dict[str, str]:
    assert old in SHAPES[path]
    return {**SHAPES, path: SHAPES[path].replace(old, new)}


def valid_functions(later: Files) -> set[str]:
    """Return the functions of `use.py` whose links stay valid."""
    found = Recorded(SHAPES).valid_links(later)
    assert_valid(found, later)
    return {key.rpartition(":")[2] for key in found if key.startswith("node:use.py:")} - {
        "__module__"
    }


EVERY = {"direct", "made", "other"}


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        pytest.param(after("pkg/shapes.py", "return 1", "return 3"), EVERY, id="constant"),
        pytest.param(after("pkg/shapes.py", "class Sq", "# hm\n\nclass Sq"), EVERY, id="lines"),
        pytest.param(
            after("pkg/shapes.py", "return 1", "return len('')"), {"direct", "other"}, id="body"
        ),
        pytest.param(
            after("pkg/shapes.py", "    pass", "    def area(self): ..."),
            {"other"},
            id="overridden",
        ),
        pytest.param(after("pkg/shapes.py", "def make", "def makes"), {"other"}, id="renamed"),
        pytest.param({**SHAPES, "pkg/far.py": "def far(): ...\n"}, EVERY, id="another file"),
        pytest.param({**SHAPES, "other/__init__.py": ""}, set(), id="another package"),
        pytest.param({**SHAPES, "pkg/shapes.pyi": "def make(): ..."}, EVERY, id="stub"),
    ],
)
def test_an_edit_invalidates_only_dependent_links(later: Files, expected: set[str]) -> None:
    assert valid_functions(later) == expected


HEADS = st.sampled_from(
    [
        "",
        "from functools import partial\n",
        "from one import *\n",
        "from two import *\n",
        "from pkg.three import *\n",
        "from two import a, b as c, A\n",
        "from pkg import three\nthree.a()\n",
        "import one\nfrom one import B as A\n",
        "import pkg.three as one\n",
        "__all__ = ['a', 'A']\nfrom one import a\n",
        "__all__ = ['A']\nfrom one import *\n",
    ]
)
TEXT = st.builds(lambda head, pieces: head + "".join(pieces), HEADS, PIECES)
PATHS = ["one.py", "two.py", "pkg/three.py", "pkg/__init__.py", "test_four.py"]
PATHS += ["two.pyi", "pkg/three.pyi"]
STATE = st.dictionaries(st.sampled_from(PATHS), TEXT, min_size=2, max_size=5)
EDIT = st.dictionaries(st.sampled_from(PATHS), TEXT | st.none(), min_size=1, max_size=2)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(STATE, EDIT)
def test_links_considered_valid_are_valid(
    files: dict[str, str], edit: dict[str, str | None]
) -> None:
    later = {path: text for path, text in {**files, **edit}.items() if text is not None}
    assert_valid(Recorded(files).valid_links(later), later)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    STATE, st.sampled_from(PATHS), st.integers(0, 40), st.sampled_from(["a()", "return A()", ""])
)
def test_one_line_more_or_less(files: dict[str, str], path: str, at: int, line: str) -> None:
    lines = files.get(path, "").split("\n")
    at = min(at, len(lines) - 1)
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    changed = [*lines[:at], margin + line, *lines[at:]] if line else lines[:at] + lines[at + 1 :]
    later = {**files, path: "\n".join(changed)}
    assert_valid(Recorded(files).valid_links(later), later)


def test_modules_in_a_star_import_cycle_export_all_names() -> None:
    circle = {
        "a.py": "from b import *\ndef fa(): ...\n",
        "b.py": "from c import *\ndef fb(): ...\n",
        "c.py": "from a import *\ndef fc(): ...\n",
        "use.py": "from c import *\ndef use():\n    fa(), fb(), fc()\n",
        "first.py": "from a import *\ndef first():\n    fa(), fb(), fc()\n",
    }
    every = ["node:a.py:fa", "node:b.py:fb", "node:c.py:fc"]
    linker = Linker(Project(circle))
    assert [edge.key for edge in linker.callees("node:first.py:first")] == every
    assert [edge.key for edge in linker.callees("node:use.py:use")] == every


def test_the_parameters_of_a_lambda_belong_to_the_interface() -> None:
    use = "from cb import cb\ndef f(): ...\ndef go():\n    g = f\n    g()\n    cb(f)\n"
    recorded = Recorded({"use.py": use, "cb.py": "cb = lambda: 1\n"})
    assert recorded.digests
    later = {"use.py": use, "cb.py": "cb = lambda call: call()\n"}
    assert_valid(recorded.valid_links(later), later)


WHOLE = "from n import *\ndef f(): ...\n"


@pytest.mark.parametrize(
    ("before", "now"),
    [(WHOLE, WHOLE + "__all__ = ['f']\n"), (WHOLE + "__all__ = ['f']\n", WHOLE)],
    ids=["no longer exported", "now exported"],
)
@pytest.mark.parametrize("between", ["m", "k"])
def test_dunder_all_decides_if_star_imported_names_are_exported(
    before: str, now: str, between: str
) -> None:
    files = {
        "n.py": "def g(): ...\n",
        "k.py": "from m import *\n",
        "a.py": f"from {between} import *\ndef use():\n    g()\n",
    }
    later = {**files, "m.py": now}
    assert_valid(Recorded({**files, "m.py": before}).valid_links(later), later)


def test_imports_are_the_converse_of_importers() -> None:
    project = Project(
        {
            "pkg/__init__.py": "",
            "pkg/mod.py": "class A: ...\ndef f(): ...\n",
            "one.py": "import pkg.mod\nfrom pkg.mod import f as g\n",
            "two.py": "from pkg import mod\nfrom pkg.mod import A\n",
        }
    )
    linker = Linker(project, track_inputs=True)
    imports = {(key, edge.key) for key in project.keys for edge in linker.links(key).imports}
    importers = {(edge.key, key) for key in project.keys for edge in linker.importers(key)}
    assert imports == importers
    assert imports == {
        ("node:one.py:__module__", "node:pkg/__init__.py:__module__"),
        ("node:one.py:__module__", "node:pkg/mod.py:__module__"),
        ("node:one.py:__module__", "node:pkg/mod.py:f"),
        ("node:two.py:__module__", "node:pkg/mod.py:__module__"),
        ("node:two.py:__module__", "node:pkg/mod.py:A"),
    }
