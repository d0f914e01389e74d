"""Links that are stored are found anew when the same program comes to mean something else."""

import hashlib

import msgspec

from remora.code.resolve import Linker
from remora.hub.store.schema import LINKS_VERSION
from remora.hub.view import MemoryView
from tests.hub.sources import facts_of
from tests.hub.store.edited_programs import PLACES, SLOTS, text_of

DIGEST = (2, "b8fb444a0dc61723ad8d2414349bc2f423ffeffd45f0a2ae43fb7ab990ecb45d")
"""Never changed without the version: that is the point."""


def test_the_version_changes_with_what_the_linker_says() -> None:
    digest = hashlib.sha256()
    for seed in range(12):
        chosen = {
            path: [
                (seed + place + slot, (seed * place + slot) % len(PLACES)) for slot in range(SLOTS)
            ]
            for place, path in enumerate(PLACES)
        }
        view = MemoryView({path: facts_of(path, text_of(path, chosen[path])) for path in PLACES})
        linker = Linker(view, noting=True)
        for key in sorted(view.keys()):
            digest.update(msgspec.msgpack.encode((key, *linker.linked(key)[:2])))

    assert (LINKS_VERSION, digest.hexdigest()) == DIGEST, (
        "the linker says something else: raise LINKS_VERSION and write both down here"
    )
