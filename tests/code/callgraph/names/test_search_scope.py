"""Search scope and file cache: common names, agreement of both directions, eviction."""

import gc

from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.linker import Linker
from remora.code.callgraph.names.search_scope import MAX_BUILTIN_NAME_FILES
from tests.code.callgraph.project import Project, backward, forward

MANY = {
    f"other{number}.py": "def other(x):\n    x.replace()\n"
    for number in range(MAX_BUILTIN_NAME_FILES + 1)
}
OWN = {
    "shape.py": (
        "class Shape:\n"
        "    def replace(self): ...\n"
        "    def again(self):\n"
        "        return self.replace()\n"
        "def shape() -> Shape: ...\n"
    ),
    "near.py": "import shape\ndef near():\n    shape.shape().replace()\n",
    "far.py": "from hub import made\ndef far():\n    made().replace()\n",
    "hub.py": "from shape import shape as made\n",
}
REPLACE = "node:shape.py:Shape.replace"


def callers(files: dict[str, str]) -> set[str]:
    return {edge.key for edge in Linker(Project(files)).callers(REPLACE)}


def test_callers_are_found_in_all_files_that_mention_the_name() -> None:
    assert callers(OWN) == {"node:shape.py:Shape.again", "node:near.py:near", "node:far.py:far"}


def test_for_a_common_name_only_files_that_mention_the_class_or_module_count() -> None:
    assert callers(OWN | MANY) == {"node:shape.py:Shape.again", "node:near.py:near"}


def test_a_node_missing_from_the_callers_does_not_have_it_as_callee() -> None:
    project = Project(OWN | MANY)
    assert backward(project, Linker(project)) == forward(project, Linker(project))
    assert Linker(project).callees("node:far.py:far")[0].key != REPLACE


def test_long_alias_chains_give_the_same_links_in_both_directions() -> None:
    lines = "".join(f"v{number + 1} = v{number}\n" for number in range(200))
    calls = "".join(f"def f{number}():\n    v{number}()\n" for number in range(201))
    project = Project({"m.py": f"def start(): ...\nv0 = start\n{lines}{calls}"})
    found = backward(project, Linker(project))
    assert found == forward(project, Linker(project))
    assert ("node:m.py:f3", "node:m.py:start") in {(a, b) for a, b, *_ in found}


def test_the_cache_keeps_no_more_files_than_its_capacity() -> None:
    calls = "".join(f"def f{n}():\n    room{n}.g()\n" for n in range(8))
    imports = "".join(f"import room{n}\n" for n in range(8))
    project = Project(
        {f"room{number}.py": f"{imports}def g(): ...\n{calls}" for number in range(8)}
    )
    linker = Linker(project, FileCache(capacity=0), track_inputs=True)
    for key in project.keys:
        linker.links(key)

    gc.collect()
    held = [
        each for each in gc.get_objects() if isinstance(each, IndexedFile) and "room" in each.path
    ]
    assert len(held) <= 2


def test_linkers_of_two_states_share_one_cache() -> None:
    files = FileCache()
    before, now = Project(OWN), Project(OWN | {"near.py": "def near(): ...\n"})
    first, second = Linker(before, files), Linker(now, files)
    for key in now.keys:  # alternate: neither may see files of the other
        assert first.callers(key) == Linker(before).callers(key)
        assert second.callers(key) == Linker(now).callers(key)


def test_a_small_cache_changes_no_answer() -> None:
    project = Project(OWN)
    forgetful = Linker(project, FileCache(capacity=0), max_answers=0)
    assert backward(project, forgetful) == backward(project, Linker(project))
