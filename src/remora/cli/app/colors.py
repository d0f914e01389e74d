"""Determines whether output is colored."""

from collections.abc import Mapping, Sequence

WHEN = {"always": True, "never": False, "auto": None}


def use_colors(args: Sequence[str], environ: Mapping[str, str]) -> bool | None:
    """Return True to force colors on, False to force them off, or None to detect a terminal.

    `--color` has the highest priority, followed by NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE.
    """
    for number, word in enumerate(args):
        if word == "--":
            break
        name, _, value = word.partition("=")
        if name == "--color":
            found = value or next(iter(args[number + 1 :]), "")
            if WHEN.get(found) is not None:
                return WHEN[found]
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0")
    return True if forced not in ("", "0") else None
