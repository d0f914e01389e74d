"""What is stored of a file is read anew when the same bytes come to mean something else."""

import hashlib

import msgspec

from remora.code.analysis import read_facts
from remora.code.facts import FACTS_VERSION
from tests.code.ground import programs

DIGEST = (1, "07f8b7220f796e90f6e34ba7974affd2b3103e2be4bd2ed06df52fd23c4ab59a")
ODD = (b"", b"\xff\x00", b"def broken(:\n    pass\n\ndef whole(): return 1\n", b"x = (\n")


def test_other_facts_are_another_version() -> None:
    digest = hashlib.sha256()
    files = [(path, text.encode()) for one in programs() for path, text in one.files.items()]
    for path, source in [*files, *((f"odd{n}.py", source) for n, source in enumerate(ODD))]:
        digest.update(msgspec.json.encode(read_facts(path, source)))
    assert (FACTS_VERSION, digest.hexdigest()) == DIGEST, (
        "read_facts says something else: raise FACTS_VERSION and write both down here"
    )
