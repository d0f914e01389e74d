"""Hunks that need each other are one group, which names its rules or its functions."""

from textwrap import dedent

import pytest

from remora.runs.records.findings import ListedFinding
from remora.runs.records.hunk_groups import HunkGroup, groups_of, labelled_hunks
from remora.runs.records.job_view import JobFindings, JobView
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.hunks import separate_hunks


def grouped(
    old: str, new: str, *findings: tuple[str, int], code: str = "missing thing"
) -> list[HunkGroup]:
    """The groups of a change of one file. `findings` are gone, with their lines."""
    before = {code: 1 for code, _ in findings} or {code: 1}
    job = JobView(
        agent_id="own-1",
        operation="own",
        node_id="node:a.py:__module__",
        findings=JobFindings(
            before=before,
            after={},
            first=tuple(ListedFinding(code, f"{code} here", line) for code, line in findings),
        ),
    )
    sides = (dedent(text).lstrip("\n").encode() for text in (old, new))
    base, theirs = sides
    return groups_of([FilePatch(path="a.py", base=base, theirs=theirs, mode=0o644)], job)


def told(groups: list[HunkGroup]) -> list[tuple[tuple[int, ...], str]]:
    return [(group.hunks, group.label) for group in groups]


def test_an_import_is_one_group_with_the_hunks_that_use_its_names_or_to_which_it_moves() -> None:
    """The import of `os` is removed alone, that of `Optional` with the two annotations."""
    old = """
        import os
        # names
        from typing import List, Optional

        # constants
        LIMIT: Optional[int] = 1
        # function
        def load(path: Optional[str]) -> List[str]:
            return ["%s" % path]
        """
    new = """
        # names
        from typing import List

        # constants
        LIMIT: int | None = 1
        # function
        def load(path: str | None) -> List[str]:
            return ["%s" % path]
        """
    groups = grouped(old, new, ("F401", 1), ("UP045", 6), ("UP045", 8))
    assert told(groups) == [((1,), "F401"), ((2, 3, 4), "UP045")]
    assert groups[1].nodes == {"node:a.py:__module__", "node:a.py:load"}
    old = """
        import os
        # types
        from typing import Callable
        RUN: Callable
        """
    new = """
        import os
        from collections.abc import Callable
        # types
        RUN: Callable
        """
    assert told(grouped(old, new, ("UP035", 3))) == [((1, 2), "UP035")]


def test_a_hunk_without_a_finding_belongs_with_those_of_its_function() -> None:
    """The second hunk has no finding."""
    old = '''
        def add(item, items=[]):
            """add"""
            size = len(items)
            items.append(item)
            return items
        '''
    new = '''
        def add(item, items=None):
            """add"""
            size = len(items)
            if items is None:
                items = []
            items.append(item)
            return items  # all
        '''
    groups = grouped(old, new, ("B006", 1), ("ERA001", 5))
    assert told(groups) == [((1, 2, 3), "B006, ERA001")]
    old = """
        import os
        # names
        def load(path):
            text = "%s" % path
            # it
            print(path)
            # and
            return dict()
        """
    new = old.replace('"%s" % path', 'f"{path}"').replace("dict()", "{}").replace("t(path", "t(1")
    new = new.replace("import os\n", "")
    groups = grouped(old, new, ("F401", 1), ("UP031", 4), ("C408", 8))
    assert told(groups) == [((1,), "F401"), ((2, 3, 4), "C408, UP031")]


def test_hunks_are_one_group_if_only_together_they_leave_a_block_whole() -> None:
    """The line `else:` stays, so that there are two hunks, of which the second loses a branch."""
    old = """
        def load(params, text):
            if "a" in params:
                return text
            else:
                if "b" in params:
                    return decode(text, params["b"])
                else:
                    return decode(text, "utf-8")
        """
    new = """
        def load(params, text):
            if "a" in params:
                return text
            elif "b" in params:
                return decode(text, params["b"])
            else:
                return decode(text, "utf-8")
        """
    groups = grouped(old, new, ("PLR5501", 4), ("E501", 8))
    assert told(groups) == [((1, 2), "E501, PLR5501")]
    old = """
        def load(d):
            if 1 in d.keys():
                size = 1
                text = "%s" % d
        """
    new = old.replace("d.keys()", "d").replace('"%s" % d', 'f"{d}"')
    assert told(grouped(old, new, ("SIM118", 2), ("UP031", 4))) == [
        ((1,), "SIM118"),
        ((2,), "UP031"),
    ]


PARTS = {
    "an else is gone": (
        """
        def load(d):
            if d:
                return 1
            else:
                size = 2

                return f"text"
        """,
        """
        def load(d):
            if d:
                return 1
            size = 2

            return "text"
        """,
        ("RET505", 4),
        ("F541", 7),
    ),
    "a block becomes one of another kind": (
        """
        def load(d):
            try:
                size = d()

                size += 1
            except OSError:
                pass
            return f"text"
        """,
        """
        def load(d):
            with suppress(OSError):
                size = d()

                size += 1
            return "text"
        """,
        ("SIM105", 2),
        ("F541", 8),
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_no_group_alone_leaves_a_part_of_a_block(name: str) -> None:
    old, new, *findings = PARTS[name]
    assert told(grouped(old, new, *findings)) == [
        ((1, 2), ", ".join(sorted(f[0] for f in findings)))
    ]


def test_hunks_of_a_single_group_are_decided_by_block_and_shown_with_one_diff() -> None:
    old = """
        import os

        def drop(values, key):
            try:
                del values[key]
            except KeyError:
                pass
        """
    new = """
        import contextlib
        import os

        def drop(values, key):
            with contextlib.suppress(KeyError):
                del values[key]
        """
    base, theirs = (dedent(text).lstrip("\n").encode() for text in (old, new))
    patches = [FilePatch(path="a.py", base=base, theirs=theirs, mode=0o644)]
    job = JobView(agent_id="own-1", operation="own", node_id="node:a.py:__module__")
    hunks = labelled_hunks(patches, job)
    parts = [[hunk.number for hunk in part] for part in separate_hunks(hunks)]
    assert parts == [[1], [2, 3]]
    assert "-    except KeyError:" in hunks[1].diff
    assert hunks[2].diff == ""
    assert "-    except KeyError:" in labelled_hunks(patches, job, [3])[0].diff


def test_rules_and_functions_are_groups_and_signatures_of_a_class_are_one() -> None:
    old = """
        def load(path):
            text = "%s" % path
            print(text)
            return dict()
        """
    new = old.replace('"%s" % path', 'f"{path}"').replace("dict()", "{}")
    assert told(grouped(old, new, ("UP031", 2), ("C408", 4))) == [((1,), "UP031"), ((2,), "C408")]
    old = '''
        class Cart:
            def add(self, item):
                """add"""
                return self

            def total(self):
                """total"""
                size = 1
                return size  # euro


        def load(path):
            return path
        '''
    new = (
        old.replace('"""add"""', '"""Add."""')
        .replace('"""total"""', '"""Sum."""')
        .replace("euro", "dollar")
        .replace("return path", '"""Load."""\n            return path')
    )
    assert told(grouped(old, new)) == [((1,), "Cart.add"), ((2, 3), "Cart.total"), ((4,), "load")]
    old = """
        class Base:
            def size(self):
                return 1


        class Cart(Base):
            def size(self):
                return 2

            def add(self, item):
                return self


        class Other:
            def size(self):
                return 3


        def load(path):
            return path
        """
    new = old.replace("size(self):", "size(self) -> int:").replace("(path):", "(path: str) -> str:")
    new = new.replace("item):", "item: int):")
    assert told(grouped(old, new)) == [
        ((1,), "Base.size"),
        ((2, 3), "Cart.size, Cart.add"),
        ((4,), "Other.size"),
        ((5,), "load"),
    ]


def test_a_finding_that_is_left_names_no_group() -> None:
    old = "import os\nimport re\nx = 1\nimport re\n"
    job = JobView(
        agent_id="lint-1",
        operation="lint",
        node_id="node:a.py:__module__",
        findings=JobFindings(
            before={"F401": 1, "F811": 2},
            after={"F811": 1},
            first=(ListedFinding("F401", "os", 1), ListedFinding("F811", "re", 2)),
            last=(ListedFinding("F811", "re", 1),),
        ),
    )
    patch = FilePatch(path="a.py", base=old.encode(), theirs=old[10:].encode(), mode=0o644)
    assert told(groups_of([patch], job)) == [((1,), "F401")]


@pytest.mark.parametrize("import_line", ["from __future__ import annotations", "import typing"])
def test_annotations_need_the_import_that_postpones_them(import_line: str) -> None:
    old = "# file\nX = 1\n\n\ndef load(path):\n    return path\n"
    new = old.replace("X", f"{import_line}\nX").replace("path):", "path: 'typing.Any | None'):")
    assert len(grouped(old, new)) == 1


def test_what_cannot_be_divided_is_named_by_its_file() -> None:
    job = JobView(agent_id="own-1", operation="own", node_id="node:a.py:load")
    patches = [
        FilePatch(
            path="tests/test_a.py", base=None, theirs=b"def test_a():\n    ...\n", mode=0o644
        ),
        FilePatch(path="notes.txt", base=b"a\n", theirs=b"b\n", mode=0o644),
        FilePatch(path="broken.py", base=b"x = (\n", theirs=b"y = (\n", mode=0o644),
    ]
    assert told(groups_of(patches, job)) == [
        ((1,), "test_a"),
        ((2,), "notes.txt"),
        ((3,), "broken.py"),
    ]
