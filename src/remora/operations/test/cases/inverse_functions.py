"""Pairs of functions whose names suggest that they are inverses."""

import ast
import re
from collections.abc import Iterator

from remora.code.syntax.definitions import FunctionNode

_PAIRS = (
    ("encode", "decode"), ("dumps", "loads"), ("dump", "load"), ("serialize", "deserialize"),
    ("format", "parse"), ("escape", "unescape"), ("quote", "unquote"), ("pack", "unpack"),
    ("compress", "decompress"), ("zip", "unzip"), ("gzip", "gunzip"), ("encrypt", "decrypt"),
    ("to", "from"), ("join", "split"), ("flatten", "unflatten"), ("marshal", "unmarshal"),
    ("build", "parse"), ("unparse", "parse"), ("stringify", "parse"), ("render", "parse"),
    ("wrap", "unwrap"), ("rotate", "unrotate"), ("indent", "dedent"), ("mangle", "unmangle"),
)  # fmt: skip
_CONVERSION = re.compile(r"(.+?)(_to_|_2_|2|_as_)(.+)")


def inverse_functions(name: str, module: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield the functions in the module whose names suggest that they are the inverse of `name`."""
    wanted = set(_opposites(name))
    for one in module.body:
        if isinstance(one, ast.FunctionDef) and one.name in wanted and one.name != name:
            yield one


def _opposites(name: str) -> Iterator[str]:
    for pair in _PAIRS:
        for one, other in (pair, pair[::-1]):
            parts = name.split("_")
            yield from (
                "_".join((*parts[:at], other, *parts[at + 1 :]))
                for at, part in enumerate(parts)
                if part == one
            )
            if name.startswith(one):
                yield other + name[len(one) :]
    match = _CONVERSION.fullmatch(name)
    if match:
        yield f"{match[3]}{match[2]}{match[1]}"


def single_argument(function: FunctionNode) -> str | None:
    """Return the name of the first parameter, or None if calls need more than one argument."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    alone = len(positional) - len(args.defaults) <= 1 and None not in args.kw_defaults
    return positional[0].arg if positional and alone else None
