"""LINKS_VERSION changes when the linker finds other links, so that stored links are recomputed."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from remora.code import callgraph
from remora.code.callgraph.linker import Linker
from remora.code.ir import lowering
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.store.tables import LINKS_VERSION
from tests.hub.small_files import facts_of
from tests.hub.store.edited_programs import PLACES, SLOTS, text_of

DIGEST = (11, "4fd6b7eca458902bee8d9ba9f0d60820b589bd516c06d1a792af32094b6f544c")
LIMITS = (11, "3a74c776ec26f69c19ced69fd2bcf8dd061aaaee366620e2a9791fdb03466b85")
"""Change neither without the version, except LIMITS when a constant only gets another name."""


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
        linker = Linker(view, track_inputs=True)
        for key in sorted(view.keys()):
            digest.update(msgspec.msgpack.encode((key, *linker.links(key)[:-1])))

    assert (LINKS_VERSION, digest.hexdigest()) == DIGEST, (
        "the linker finds other links: raise LINKS_VERSION and write both down here"
    )


def limits() -> Iterator[tuple[str, int]]:
    """Yield every integer constant of the linker's modules: small programs do not reach the limits."""
    for package in (callgraph, lowering):
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
        f"a limit of the linker changed: raise LINKS_VERSION and write both down here; now {found}"
    )
