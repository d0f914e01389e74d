"""Links that are stored are found anew when the same program comes to mean something else."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from remora.code import callgraph
from remora.code.callgraph.linker import Linker
from remora.code.ir import build
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.store.tables import LINKS_VERSION
from tests.hub.sources import facts_of
from tests.hub.store.edited_programs import PLACES, SLOTS, text_of

DIGEST = (3, "b8fb444a0dc61723ad8d2414349bc2f423ffeffd45f0a2ae43fb7ab990ecb45d")
LIMITS = (3, "b49be083557d1ccccea33a05252047528159b341e9cbeb5ded4c42f06b19e14e")
"""Neither is ever changed without the version: that is the point."""


def test_the_version_changes_with_what_the_linker_says() -> None:
    digest = hashlib.sha256()
    for seed in range(12):
        chosen = {
            path: [
                (seed + place + slot, (seed * place + slot) % len(PLACES)) for slot in range(SLOTS)
            ]
            for place, path in enumerate(PLACES)
        }
        view = MemorySnapshot(
            {path: facts_of(path, text_of(path, chosen[path])) for path in PLACES}
        )
        linker = Linker(view, noting=True)
        for key in sorted(view.keys()):
            digest.update(msgspec.msgpack.encode((key, *linker.linked(key)[:2])))

    assert (LINKS_VERSION, digest.hexdigest()) == DIGEST, (
        "the linker says something else: raise LINKS_VERSION and write both down here"
    )


def limits() -> Iterator[tuple[str, int]]:
    """Every number to which a module of the linker gives a name: no small program reaches them."""
    for package in (callgraph, build):
        for module in Path(str(package.__file__)).parent.rglob("*.py"):
            for statement in ast.parse(module.read_bytes()).body:
                match statement:
                    case (
                        ast.Assign(targets=[ast.Name(name)], value=ast.Constant(int(number)))
                        | ast.AnnAssign(target=ast.Name(name), value=ast.Constant(int(number)))
                    ):
                        yield name, number


def test_the_version_changes_with_the_limits_of_the_linker() -> None:
    found = sorted(limits())
    assert len(found) > 20
    assert (LINKS_VERSION, hashlib.sha256(repr(found).encode()).hexdigest()) == LIMITS, (
        f"the linker stops elsewhere: raise LINKS_VERSION and write both down here; now {found}"
    )
