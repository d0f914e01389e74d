"""Whether parameters and return are annotated."""

from remora.code.definitions import FunctionNode

_BOUND = ("self", "cls")


def has_type_hints(node: FunctionNode) -> bool:
    """All parameters but a first `self` or `cls`, and the return."""
    args = node.args
    if node.returns is None:
        return False
    given = args.posonlyargs + args.args + args.kwonlyargs
    if args.vararg is not None:
        given.append(args.vararg)
    if args.kwarg is not None:
        given.append(args.kwarg)
    if given and given[0].annotation is None and given[0].arg in _BOUND:
        del given[0]
    return all(arg.annotation is not None for arg in given)
