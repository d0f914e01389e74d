"""What a function does, or gives, as its name and signature tell in a sentence."""

# ruff: noqa: SIM905 - a text of words is easier to read than a list of quoted ones

import ast
from collections.abc import Sequence

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import unqualified_name
from remora.operations.docstring.derive.dictionary import LITTLE_WORDS
from remora.operations.docstring.derive.name_words import phrase, with_a, with_the, words_of
from remora.operations.docstring.derive.verbs import (
    ASKING,
    FROM,
    MAKING,
    OF,
    TO,
    WORDS,
    how,
    is_either,
    is_noun,
    is_verb,
    names_nothing,
    spoken,
)
from remora.operations.docstring.parts import Parameter, Skeleton
from remora.operations.docstring.quotes import code_text

_PROPERTIES = frozenset(("property", "cached_property", "hybrid_property", "computed_field"))
_PLACES = frozenset(
    "dest destination directory file filename folder fp out output path stream".split()
)
_SHORT = 3
_STREAMED = frozenset(("pop", "read", "receive", "take"))
_TRANSITIVE = frozenset(
    "check convert decode encode handle parse process shuffle validate visit".split()
)
_FORMS = {
    "bin": "binary digits",
    "dict": "a dictionary",
    "float": "a float",
    "hex": "hexadecimal digits",
    "int": "an integer",
    "str": "a string",
    "unicode": "Unicode text",
}
_BEGINNINGS = frozenset(("to", "as", "from", "on", "handle"))


def function_sentence(node: FunctionNode, made_of: Skeleton, owner: str) -> str:
    """One sentence without its full stop; empty where the name tells nothing."""
    words = words_of(node.name)
    whole = _whole(owner)
    if not words or not (_may_be_deed(words[0].lower()) or made_of.outcome != "nothing"):
        return ""
    if _is_property(node):
        return _property(words, whole, made_of)
    first, rest = words[0].lower(), words[1:]
    if first in ASKING:
        return _question(first, rest, whole, made_of)
    if rest and first in _BEGINNINGS:
        return _begun(first, rest, owner, made_of)
    if says_deed(words, made_of):
        return "run the program" if node.name == "main" else _deed(first, rest, whole, made_of)
    return _thing(node, words, whole, made_of)


def _whole(owner: str) -> str:
    """The class as prose names it, or by its name, where that is no noun: `OneToOne`."""
    words = words_of(owner)
    return f"`{owner}`" if LITTLE_WORDS.intersection(words) else phrase(words)


def _may_be_deed(word: str) -> bool:
    """Not for `next` and `default`, which are no verbs."""
    return is_verb(word, alone=False, gives=False) or word not in WORDS


def says_deed(words: Sequence[str], made_of: Skeleton) -> bool:
    """Whether a name says what is done; what gives nothing must do something."""
    gives = made_of.outcome != "nothing"
    return not gives or is_verb(words[0].lower(), alone=len(words) == 1, gives=gives)


def is_question_or_form(words: Sequence[str]) -> bool:
    """Whether a name asks something (`is_empty`), or says into what or from what (`to_json`)."""
    return bool(words) and words[0].lower() in {*ASKING, "to", "as", "from"}


def _begun(first: str, rest: Sequence[str], owner: str, made_of: Skeleton) -> str:
    """A name that begins with a little word."""
    if first in ("to", "as"):
        return _conversion(first, rest, _whole(owner), made_of)
    if first == "from":
        return f"create {with_a(words_of(owner))} from {_source(rest, made_of)}" if owner else ""
    return f"handle {with_the(rest)}"


def _thing(node: FunctionNode, words: Sequence[str], whole: str, made_of: Skeleton) -> str:
    """A name that says what comes out."""
    given = [each for each in made_of.parameters if not each.kind and each.default is None]
    if not is_noun(words[-1]) or (len(words) == 1 and is_either(words[0].lower()) and given):
        return ""
    if any("contextmanager" in unqualified_name(each) for each in node.decorator_list):
        return f"provide {with_the(words)} in a `with` block"
    verb = "yield" if made_of.outcome == "yields" else "return"
    return f"{verb} {with_the(words)}{_tail('of', words, made_of, whole)}"


def effect_text(node: FunctionNode) -> str:
    """What a short function sets: `` set `state` to `CLOSED` ``; empty where it does more or else."""
    known = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    first = node.body[0]
    if len(node.body) > _SHORT or not isinstance(first, ast.Assign | ast.AugAssign):
        return ""
    target = first.target if isinstance(first, ast.AugAssign) else first.targets[0]
    holder = target.value if isinstance(target, ast.Subscript) else target
    value, place = code_text(first.value, known), code_text(target, known)
    if not isinstance(holder, ast.Attribute) or not value or not place:
        return ""
    if isinstance(first, ast.Assign):
        return f"set {place} to {value}"
    return f"add {value} to {place}" if isinstance(first.op, ast.Add) else ""


def object_of(node: FunctionNode, made_of: Skeleton) -> str:
    """`the config` of `load_config` and of `config`; empty where the name does not tell."""
    words = words_of(node.name)
    if not words or words[0].lower() in {*ASKING, *_BEGINNINGS}:
        return ""
    if says_deed(words, made_of):
        rest = [word for word in words[1:] if word not in ("by", "from", "for", "in", "to", "with")]
        told = bool(rest) and rest == words[1:] and not names_nothing(rest[-1])
        return with_the(rest) if told else ""
    return with_the(words) if is_noun(words[-1]) else ""


def _is_property(node: FunctionNode) -> bool:
    return any(unqualified_name(decorator) in _PROPERTIES for decorator in node.decorator_list)


def _property(words: Sequence[str], whole: str, made_of: Skeleton) -> str:
    first = words[0].lower()
    if first in ASKING and words[1:]:
        verb = ASKING[first]
        return f"whether the {whole} {verb} {phrase(words[1:])}"
    if made_of.annotation == "bool" and len(words) == 1:
        return f"whether the {whole} is {words[0]}" if how(words[0]) else ""
    if made_of.annotation == "bool":
        has = not is_verb(first, alone=False, gives=False)
        return f"whether the {whole} has {with_a(words)}" if has else ""
    return f"{with_the(words)} of the {whole}" if is_noun(words[-1]) else ""


def _question(first: str, rest: Sequence[str], whole: str, made_of: Skeleton) -> str:
    """`return whether the graph is directed`."""
    asked = whole and f"the {whole}"
    parameters = [each for each in made_of.parameters if not each.kind]
    if not asked and parameters:
        asked = f"`{parameters.pop(0).name}`"
    if not asked:
        return ""
    what = _said_of(rest) if first in ("is", "are", "was") else phrase(rest)
    if rest and not what:
        return ""
    if first in ("has", "have", "contains", "needs", "supports", "allows") and rest:
        what = with_a(rest)
    if not rest and parameters:  # `contains(self, key)`
        what = f"`{parameters[0].name}`"
    return f"return whether {asked} {ASKING[first]} {what}".rstrip()


def _said_of(words: Sequence[str]) -> str:
    """How something is, or what: `empty`, `a table`; empty where the words do not tell which."""
    if not words or how(words[-1]):
        return phrase(words)
    return with_a(words) if is_noun(words[-1]) else ""


def _conversion(first: str, rest: Sequence[str], whole: str, made_of: Skeleton) -> str:
    """`return the order as JSON`, `convert `value` to text`."""
    if not _form(rest):
        return ""
    if whole:
        return f"return the {whole} as {_form(rest)}"
    given = [each for each in made_of.parameters if not each.kind]
    if given:
        verb = "convert" if first == "to" else "return"
        return f"{verb} `{given[0].name}` {first} {_form(rest)}"
    return ""


def _form(words: Sequence[str]) -> str:
    return _FORMS.get(phrase(words).lower(), with_a(words) if is_noun(words[-1]) else "")


def _source(rest: Sequence[str], made_of: Skeleton) -> str:
    """What something is made from: the parameter, where there is one that is called otherwise."""
    given = [each.name for each in made_of.parameters if not each.kind]
    if given and words_of(given[0]) != list(rest):
        return f"{_form(rest)} in `{given[0]}`" if given[0] in _PLACES else f"`{given[0]}`"
    return _form(rest)


def _deed(first: str, rest: Sequence[str], whole: str, made_of: Skeleton) -> str:
    """`load the config from `path``, `close the connection`, `parse `line``."""
    verb = spoken(first)
    if first == "iter" and not rest:
        return whole and f"iterate over the {whole}"
    if not rest:
        return _bare_deed(first, whole, made_of)
    if rest[0] in ("all", "each", "every", "any", "no", "nothing", "everything"):
        return f"{verb} {phrase(rest)}"
    linking = next((i for i, word in enumerate(rest) if word in _LINKS), None)
    if linking is not None:
        return _linked(verb, rest, linking, whole)
    if names_nothing(rest[-1]):
        return ""
    thing = with_a(rest) if first in MAKING and made_of.outcome != "yields" else with_the(rest)
    preposition = "from" if first in FROM else "to" if first in TO else "of"
    tail = _tail(preposition, rest, made_of, whole) if first in FROM | TO | OF else ""
    return f"{verb} {thing}{tail}"


def _on_the_whole(first: str, whole: str) -> str:
    """`close the connection`, `read from the socket`."""
    if not whole or first in ("get", "fetch", "find", "set", "add", "seek", "go"):
        return ""
    return f"{spoken(first)}{' from' if first in _STREAMED else ''} the {whole}"


def _bare_deed(first: str, whole: str, made_of: Skeleton) -> str:
    """A verb alone is about the first parameter, else about the whole."""
    given = [each for each in made_of.parameters if not each.kind and each.default is None]
    if not given:
        return _on_the_whole(first, whole)
    if len(given) > 1 or (whole and first not in FROM | TO | _TRANSITIVE):
        return ""  # the first need not be what it is about
    tail = f" {'from' if first in FROM else 'to'} the {whole}" if whole else ""
    return f"{spoken(first)} `{given[0].name}`{tail if first in FROM | TO else ''}"


_LINKS = frozenset(
    ("as", "at", "by", "for", "from", "in", "into", "of", "on", "to", "with", "without")
)


def _linked(verb: str, rest: Sequence[str], at: int, whole: str) -> str:
    """`find the user by name`; without a thing before the link, the whole is it."""
    before, link, behind = rest[:at], rest[at], rest[at + 1 :]
    thing = with_the(before) if before else f"the {whole}" if whole else ""
    if not thing or not behind:
        return ""
    return f"{verb} {thing} {link} {phrase(behind) if link in ('by', 'as') else with_the(behind)}"


def _tail(preposition: str, words: Sequence[str], made_of: Skeleton, whole: str) -> str:
    """` of `graph`` where there is a first parameter that the words do not speak of."""
    given = [each for each in made_of.parameters if not each.kind and each.default is None]
    if whole:
        return f" of the {whole}" if preposition == "of" and not given else ""
    if len(given) != 1 or not _is_another(given[0], words):
        return ""
    return f" {preposition} `{given[0].name}`"


def _is_another(parameter: Parameter, words: Sequence[str]) -> bool:
    own = {word.lower() for word in words_of(parameter.name)}
    return own.isdisjoint(word.lower() for word in words)
