"""What an answer was read from, as a set of bits.

Whatever the linker looks at in a program has a bit: the whole of a file, its outline, the files that
mention a name, … Some share one, so that a set is small: to believe that something was read which
was not costs time, never truth.
"""

from functools import lru_cache
from typing import Literal, get_args
from zlib import crc32

INPUTS = 4096
"""How many bits there are."""
EVERYTHING = (1 << INPUTS) - 1

BODY = "body"  # path: everything that is in the file
OUTLINE = "outline"  # path: what is in it outside of functions, see `outline`
MENTIONS = "mentions"  # name: which files mention it
CROWD = "crowd"  # most, a blank, name: whether more files than that mention it
ALIAS = "alias"  # name: what else files call what they import as that
STAR = "star"  # name: which files give it by `import *`
STARS = "stars"  # (nothing): which files are imported by `import *`
MODULE = "module"  # last part of a dotted name: which modules are called so
CARRIERS = "carriers"  # key: all names that lead to a node beyond its own, see `Linker.carried`
FOLDER = "folder"  # path: which files are in it

Crowd = Literal[0, 12, 24, 32, 48, 64, 120, 128, 256]
"""How many files are asked about as too many; of any other number no change would be noticed."""
CROWDS: tuple[Crowd, ...] = get_args(Crowd)


@lru_cache(maxsize=1 << 16)
def bit(kind: str, name: str = "") -> int:
    """The input of that kind and name, as a set of one; the same in every process."""
    return 1 << (crc32(f"{kind} {name}".encode("utf-8", "surrogatepass")) % INPUTS)
