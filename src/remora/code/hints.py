"""Whether parameters and return are annotated."""

from remora.code.definitions import FunctionNode


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
    bare = [arg.arg for arg in given if arg.annotation is None]
    return not bare or (len(bare) == 1 and bare[0] in ("self", "cls") and bare[0] == given[0].arg)
