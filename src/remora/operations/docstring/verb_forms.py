"""The verb with which the summary of a function begins: "Return", or "Returns" as other projects say."""

import re

from remora.operations.docstring.parts import Mood

_VERBS = frozenset(
    (
        "accept", "acquire", "add", "align", "allow", "analyze", "append", "apply", "attempt",
        "build", "calculate", "call", "cancel", "change", "check", "clean", "clear", "close",
        "collect", "compare", "compile", "compute", "configure", "connect", "construct", "consume",
        "convert", "copy", "create", "decide", "decode", "decorate", "decrement", "define",
        "delete", "describe", "deserialize", "detect", "determine", "disable", "dispatch",
        "display", "download", "drain", "dump", "emit", "enable", "encode", "encrypt", "enqueue",
        "ensure", "establish", "execute", "expand", "extend", "extract", "fetch", "filter",
        "finalize", "find", "flush", "force", "fork", "format", "generate", "get", "give", "handle",
        "implement", "increment", "indicate", "infer", "initialize", "insert", "install", "invoke",
        "iterate", "join", "list", "load", "log", "look", "make", "map", "mark", "match", "merge",
        "move", "normalize", "open", "override", "parse", "perform", "pop", "prepare", "print",
        "process", "produce", "provide", "publish", "push", "raise", "read", "receive", "record",
        "reduce", "register", "release", "remove", "render", "replace", "report", "request",
        "reset", "resolve", "restore", "resume", "retrieve", "return", "run", "save", "schedule",
        "search", "select", "send", "serialize", "set", "show", "skip", "split", "start", "stop",
        "store", "strip", "suppress", "take", "transform", "translate", "try", "update", "upload",
        "use", "validate", "verify", "visit", "wait", "walk", "wrap", "write", "yield",
    )
)  # fmt: skip
"""Verbs that begin the summaries of functions in both forms, in installed packages."""
_HISSING = re.compile(r"(?:s|x|z|ch|sh|[^aeiou]o)$")
_ENDS_WITH_Y = re.compile(r"[^aeiou]y$")


def _third_person(verb: str) -> str:
    if _ENDS_WITH_Y.search(verb):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if _HISSING.search(verb) else f"{verb}s"


_FORMS = {_third_person(verb): verb for verb in _VERBS}
_OTHERS = {verb: form for form, verb in _FORMS.items()}


def mood_of(text: str) -> Mood | None:
    """Return the mood of the verb with which a text begins, or None if it is not known."""
    word = text.partition(" ")[0].lower()
    return "indicative" if word in _FORMS else "imperative" if word in _VERBS else None


def in_mood(text: str, mood: Mood) -> str:
    """Return a text whose first word has the form of `mood` if it is a known verb."""
    word, space, rest = text.partition(" ")
    forms = _FORMS if mood == "imperative" else _OTHERS
    known = forms.get(word.lower())
    return known.capitalize() + space + rest if known else text
