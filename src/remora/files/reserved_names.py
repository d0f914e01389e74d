"""Detection of the names of reserved files, which no change may write.

Reserved files are version control data, recordings and Remora's settings.
"""

import re
import unicodedata
from typing import Literal

from remora.files.walk import RESERVED_FOLDERS

Kind = Literal["records", "settings"]
_SETTINGS = frozenset({".remora", "remora.yaml"})
_SEPARATORS = re.compile(r"[/\\]")
_HIDDEN = frozenset({"Cf", "Cc", "Mn", "Me", "Zl", "Zp"})
"""Unicode categories of invisible characters, which some file systems ignore in names."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_SHORT_NAMES = re.compile(r"(?:git|hg|svn|bzr|agentf)~\d+|gi[0-9a-f]{4}~\d+")
"""Short names of version control on FAT and NTFS."""
_SHORT_SETTINGS = re.compile(r"remora~\d+(?:\.yam)?|re[0-9a-f]{4}~\d+(?:\.yam)?")


def reserved(path: str) -> Kind | None:
    """Return the kind of reserved file that a root-relative path could refer to, or None.

    File systems may treat different names as equal. This function applies the rules of HFS+, APFS,
    NTFS and FAT for case, invisible characters, compatibility forms, trailing dots and spaces,
    streams after a colon, and short names.
    """
    kinds = {_kind(part) for part in _SEPARATORS.split(path)}
    return "records" if "records" in kinds else "settings" if "settings" in kinds else None


def _kind(part: str) -> Kind | None:
    name = part.casefold() if part.isascii() and part.isprintable() else _fold_name(part)
    name = name.partition(":")[0].strip().rstrip(". ")
    if name in RESERVED_FOLDERS or _SHORT_NAMES.fullmatch(name):
        return "records"
    return "settings" if name in _SETTINGS or _SHORT_SETTINGS.fullmatch(name) else None


def _fold_name(part: str) -> str:
    """Return a name in lowercase without invisible characters, as ASCII if possible."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", part).casefold())
    visible = (c for c in plain if c not in _FILLERS and unicodedata.category(c) not in _HIDDEN)
    return "".join(visible).replace("\u0131", "i")
