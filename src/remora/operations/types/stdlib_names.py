"""Modules of the standard library from which annotations import names."""

_NAMES = {
    "typing": "Any ClassVar Literal NoReturn TextIO BinaryIO IO NamedTuple TypeVar Protocol Union "
    "Optional SupportsInt SupportsFloat SupportsIndex AnyStr Self TYPE_CHECKING",
    "collections.abc": "Iterable Iterator Sequence Mapping MutableMapping MutableSequence Set "
    "MutableSet Generator AsyncIterator AsyncIterable AsyncGenerator Awaitable Coroutine Callable "
    "Collection Hashable Sized Container Reversible KeysView ValuesView ItemsView",
    "re": "Match Pattern",
    "pathlib": "Path PurePath PurePosixPath PosixPath",
    "datetime": "datetime date timedelta tzinfo timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "types": "TracebackType ModuleType FunctionType MethodType FrameType CodeType SimpleNamespace "
    "MappingProxyType",
    "collections": "OrderedDict defaultdict deque Counter ChainMap",
    "logging": "Logger Handler LogRecord Formatter",
    "argparse": "ArgumentParser Namespace",
    "io": "StringIO BytesIO TextIOWrapper BufferedReader RawIOBase BufferedIOBase",
    "enum": "Enum",
    "uuid": "UUID",
    "threading": "Thread",
    "asyncio": "AbstractEventLoop Task",
    "subprocess": "Popen CompletedProcess",
    "ssl": "SSLContext SSLSocket",
    "contextlib": "ExitStack AsyncExitStack AbstractContextManager",
    "ast": "AST",
    "inspect": "Signature Parameter",
    "random": "Random",
    "os": "PathLike",
    "functools": "partial",
    "numbers": "Number Real",
    "concurrent.futures": "Executor ThreadPoolExecutor",
    "configparser": "ConfigParser",
    "email.message": "Message EmailMessage",
}
STDLIB_NAMES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""The module of each name."""
OLD_ALIASES = {
    "list": "List",
    "dict": "Dict",
    "tuple": "Tuple",
    "set": "Set",
    "frozenset": "FrozenSet",
    "type": "Type",
    "defaultdict": "DefaultDict",
    "deque": "Deque",
}
"""Names in `typing` of built-in generics, which Python 3.8 needs."""
