"""Modules of the standard library from which annotations import names."""

from collections import Counter

STDLIB_MODULES = {
    module: frozenset(names.split())
    for module, names in {
        "typing": "Any Literal NoReturn Self TextIO BinaryIO IO SupportsInt SupportsFloat "
        "SupportsIndex AnyStr Optional Union List Dict Tuple Set FrozenSet Type Deque DefaultDict",
        "collections.abc": "Iterable Iterator Sequence Mapping MutableMapping MutableSequence "
        "MutableSet Generator AsyncIterator AsyncIterable AsyncGenerator Awaitable Coroutine "
        "Callable Collection Hashable Sized Container Reversible KeysView ValuesView ItemsView",
        "re": "Match Pattern",
        "pathlib": "Path PurePath PurePosixPath PosixPath",
        "datetime": "datetime date time timedelta tzinfo timezone",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "types": "TracebackType ModuleType FunctionType MethodType FrameType CodeType "
        "SimpleNamespace MappingProxyType",
        "collections": "OrderedDict defaultdict deque Counter ChainMap",
        "logging": "Logger Handler LogRecord Formatter LoggerAdapter Filter",
        "argparse": "ArgumentParser Namespace Action",
        "io": "StringIO BytesIO TextIOWrapper BufferedReader BufferedWriter RawIOBase "
        "BufferedIOBase",
        "enum": "Enum",
        "uuid": "UUID",
        "threading": "Thread Event Condition Timer Semaphore",
        "asyncio": "AbstractEventLoop Task Future Event Queue Lock Semaphore Condition "
        "StreamReader StreamWriter Transport BaseTransport Protocol BaseProtocol Server",
        "socket": "socket SocketType",
        "subprocess": "Popen CompletedProcess",
        "ssl": "SSLContext SSLSocket SSLObject",
        "contextlib": "ExitStack AsyncExitStack AbstractContextManager AbstractAsyncContextManager",
        "ast": "AST NodeVisitor Module expr stmt Call Name Attribute",
        "inspect": "Signature Parameter BoundArguments",
        "random": "Random",
        "os": "PathLike stat_result",
        "functools": "partial",
        "numbers": "Number Real",
        "contextvars": "Context ContextVar Token",
        "concurrent.futures": "Executor ThreadPoolExecutor Future",
        "configparser": "ConfigParser RawConfigParser",
        "email.message": "Message EmailMessage",
        "zipfile": "ZipFile ZipInfo",
        "tarfile": "TarFile TarInfo",
        "struct": "Struct",
        "tokenize": "TokenInfo",
        "string": "Template",
        "queue": "Queue",
        "selectors": "BaseSelector SelectorKey",
        "shelve": "Shelf",
        "sqlite3": "Connection Cursor Row",
        "unittest": "TestCase TestSuite TestResult",
        "xml.etree.ElementTree": "Element ElementTree",
    }.items()
}
"""Names that annotations use, by their module."""
_COUNTS = Counter(name for names in STDLIB_MODULES.values() for name in names)
STDLIB_NAMES = {
    name: module for module, names in STDLIB_MODULES.items() for name in names if _COUNTS[name] == 1
}
"""The module of each name that only one of these modules has."""
ADDED_IN = {"Literal": 8, "SupportsIndex": 8, "Self": 11}
"""The minor version of Python 3 that added a name of these modules, if it is 8 or later."""
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
