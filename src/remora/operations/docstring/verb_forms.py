"""The verb with which the summary of a function begins: "Return", or "Returns" as other projects say."""

import re

from remora.judges.docstrings.parts import Mood

_VERBS = frozenset(
    (
        "accept", "add", "analyze", "append", "apply", "attempt", "build", "calculate", "cancel",
        "check", "clean", "clear", "close", "collect", "compare", "compile", "compute", "configure",
        "connect", "construct", "convert", "create", "decode", "delete", "detect", "determine",
        "disable", "download", "emit", "enable", "encode", "ensure", "execute", "expand", "extend",
        "extract", "fetch", "find", "generate", "get", "handle", "initialize", "insert", "install",
        "iterate", "join", "load", "make", "merge", "move", "normalize", "open", "override",
        "parse", "perform", "prepare", "print", "produce", "provide", "push", "raise", "read",
        "receive", "register", "remove", "render", "replace", "reset", "resolve", "restore",
        "retrieve", "return", "run", "save", "select", "send", "serialize", "set", "show", "split",
        "start", "stop", "store", "strip", "take", "transform", "try", "update", "validate",
        "verify", "wait", "wrap", "write", "yield",
    )
)  # fmt: skip
"""Verbs that begin summaries in both forms in installed packages, and are not nouns."""
_HISSING = re.compile(r"(?:s|x|z|ch|sh|[^aeiou]o)$")
_AND = re.compile(r"((?:,|,? and) )(\w+)")
_Y = re.compile(r"(?<![aeiou])y$")
_FORMS = {_Y.sub("ie", verb) + ("es" if _HISSING.search(verb) else "s"): verb for verb in _VERBS}
_OTHERS = {verb: form for form, verb in _FORMS.items()}


def mood_of(text: str) -> Mood | None:
    """Return the mood of the verb with which a text begins, or None if it is not known."""
    word = text.partition(" ")[0].lower()
    return "indicative" if word in _FORMS else "imperative" if word in _VERBS else None


def in_mood(text: str, mood: Mood) -> str:
    """Return a text whose first word, and verbs after "," or "and", have the form of `mood`."""
    forms = _FORMS if mood == "imperative" else _OTHERS
    word, space, rest = text.partition(" ")
    known = forms.get(word.lower(), word)
    others = _AND.sub(lambda verb: verb[1] + forms.get(verb[2], verb[2]), space + rest)
    return known.capitalize() + others if mood_of(text) else text
