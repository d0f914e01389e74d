"""Where links are looked for when very many files mention a name; both directions agree on it."""

import gc

from remora.code.callgraph.files.file_cache import IndexedFiles
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.linker import Linker
from remora.code.callgraph.names.search_scope import MOST_COMMON
from tests.code.callgraph.project import Project, backward, forward

MANY = {
    f"other{number}.py": "def other(x):\n    x.replace()\n" for number in range(MOST_COMMON + 1)
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


def test_a_method_is_called_from_wherever_it_is_named() -> None:
    assert callers(OWN) == {"node:shape.py:Shape.again", "node:near.py:near", "node:far.py:far"}


def test_of_a_name_that_is_everywhere_only_files_count_that_name_its_class_or_module() -> None:
    assert callers(OWN | MANY) == {"node:shape.py:Shape.again", "node:near.py:near"}


def test_what_is_not_among_the_callers_does_not_call_it_either() -> None:
    project = Project(OWN | MANY)
    assert backward(project, Linker(project)) == forward(project, Linker(project))
    assert Linker(project).callees("node:far.py:far")[0].key != REPLACE


def test_a_value_that_goes_everywhere_is_followed_the_same_way_in_both_directions() -> None:
    lines = "".join(f"v{number + 1} = v{number}\n" for number in range(200))
    calls = "".join(f"def f{number}():\n    v{number}()\n" for number in range(201))
    project = Project({"m.py": f"def start(): ...\nv0 = start\n{lines}{calls}"})
    found = backward(project, Linker(project))
    assert found == forward(project, Linker(project))
    assert ("node:m.py:f3", "node:m.py:start") in {(a, b) for a, b, *_ in found}


def test_files_that_stay_keep_their_indexes_and_the_others_do_not() -> None:
    files = IndexedFiles()
    before = Project(OWN)
    first = Linker(before, files).callers(REPLACE)
    assert first == Linker(before, files).callers(REPLACE)
    now = Project(OWN | {"near.py": "def near(): ...\n"})
    assert Linker(now, files).callers(REPLACE) == Linker(now).callers(REPLACE)
    assert Linker(before, files).callers(REPLACE) == first


def test_no_more_files_are_held_than_there_is_room_for() -> None:
    calls = "".join(f"def f{n}():\n    room{n}.g()\n" for n in range(20))
    imports = "".join(f"import room{n}\n" for n in range(20))
    project = Project(
        {f"room{number}.py": f"{imports}def g(): ...\n{calls}" for number in range(20)}
    )
    linker = Linker(project, IndexedFiles(room=0), noting=True)
    for key in project.keys:
        linker.linked(key)

    gc.collect()
    held = [each for each in gc.get_objects() if isinstance(each, File) and "room" in each.path]
    assert len(held) <= 2


def test_linkers_of_two_states_share_one_room() -> None:
    files = IndexedFiles()
    before, now = Project(OWN), Project(OWN | {"near.py": "def near(): ...\n"})
    first, second = Linker(before, files), Linker(now, files)
    for key in now.keys:  # in turn: neither may see the other's files
        assert first.callers(key) == Linker(before).callers(key)
        assert second.callers(key) == Linker(now).callers(key)


def test_little_that_is_remembered_changes_no_answer() -> None:
    project = Project(OWN)
    forgetful = Linker(project, IndexedFiles(room=0), most=0)
    assert backward(project, forgetful) == backward(project, Linker(project))
