"""Names that no change may write: version control, recordings and Remora's own settings."""

import re
import unicodedata
from typing import Literal

from remora.files.walk import RESERVED_FOLDERS

Kind = Literal["records", "settings"]
_SETTINGS = frozenset({".remora", "remora.yaml"})
_SEPARATORS = re.compile(r"[/\\]")
_HIDDEN = frozenset({"Cf", "Cc", "Mn", "Me", "Zl", "Zp"})
"""Categories of invisible characters: some file systems ignore them in names."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_SHORT_NAMES = re.compile(r"(?:git|hg|svn|bzr|agentf)~\d+|gi[0-9a-f]{4}~\d+")
"""What FAT and NTFS may call version control beside its long name."""
_SHORT_SETTINGS = re.compile(r"remora~\d+(?:\.yam)?|re[0-9a-f]{4}~\d+(?:\.yam)?")


def reserved(path: str) -> Kind | None:
    """Return what a root-relative path would change if some file system reads its names.

    Case, invisible characters, compatibility forms, trailing dots and blanks, streams after a colon
    and short names are ignored as HFS+, APFS, NTFS and FAT ignore them.
    """
    kinds = {_kind(part) for part in _SEPARATORS.split(path)}
    return "records" if "records" in kinds else "settings" if "settings" in kinds else None


def _kind(part: str) -> Kind | None:
    name = part.casefold() if part.isascii() and part.isprintable() else _folded(part)
    name = name.partition(":")[0].strip().rstrip(". ")
    if name in RESERVED_FOLDERS or _SHORT_NAMES.fullmatch(name):
        return "records"
    return "settings" if name in _SETTINGS or _SHORT_SETTINGS.fullmatch(name) else None


def _folded(part: str) -> str:
    """Return a name without invisible characters, as lower-case ASCII where possible."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", part).casefold())
    seen = (c for c in plain if c not in _FILLERS and unicodedata.category(c) not in _HIDDEN)
    return "".join(seen).replace("\u0131", "i")
