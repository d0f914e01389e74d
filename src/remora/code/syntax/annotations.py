"""Whether parameters and return are annotated."""

from remora.code.syntax.definitions import FunctionNode

_BOUND = ("self", "cls")


def has_type_hints(node: FunctionNode) -> bool:
    """All parameters but a first `self` or `cls`, and the return."""
    if node.returns is None:
        return False
    args = node.args
    given = args.posonlyargs + args.args + args.kwonlyargs
    for rest in (args.vararg, args.kwarg):
        if rest is not None:
            given.append(rest)
    for arg in given:
        if arg.annotation is None and not (arg is given[0] and arg.arg in _BOUND):
            return False
    return True
