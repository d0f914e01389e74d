"""Functions of public packages, and which packages are used to develop and which to measure."""

import ast
import contextlib
import inspect
import random
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from types_packages import CACHE, package_texts

DEVELOPMENT = [
    "aiohttp",
    "arrow",
    "babel",
    "boltons",
    "celery",
    "cookiecutter",
    "dask",
    "docutils",
    "fastapi",
    "gunicorn",
    "hypothesis",
    "isort",
    "kombu",
    "marshmallow",
    "more-itertools",
    "nltk",
    "packaging",
    "parso",
    "pip",
    "prompt-toolkit",
    "pygments",
    "pyramid",
    "pyyaml",
    "rich",
    "sphinx",
    "structlog",
    "tox",
    "twisted",
    "uvicorn",
    "werkzeug",
    "zope.interface",
]
"""Packages for the framing of the questions and the weights: every third one of a sorted list."""
HELD_OUT = [
    "alembic",
    "anyio",
    "astroid",
    "attrs",
    "beautifulsoup4",
    "black",
    "botocore",
    "bottle",
    "cherrypy",
    "click",
    "coverage",
    "cryptography",
    "django",
    "djangorestframework",
    "dulwich",
    "fabric",
    "flask",
    "fsspec",
    "httpcore",
    "httpx",
    "invoke",
    "ipython",
    "jinja2",
    "jsonschema",
    "mako",
    "markdown",
    "matplotlib",
    "mistune",
    "mypy",
    "networkx",
    "nox",
    "openpyxl",
    "pandas",
    "paramiko",
    "passlib",
    "pexpect",
    "pluggy",
    "poetry-core",
    "psutil",
    "pydantic",
    "pylint",
    "pymongo",
    "pytest",
    "python-dateutil",
    "redis",
    "requests",
    "scrapy",
    "setuptools",
    "sqlalchemy",
    "starlette",
    "sympy",
    "tornado",
    "tqdm",
    "trio",
    "typer",
    "urllib3",
    "virtualenv",
    "websockets",
    "wtforms",
    "xarray",
]
"""Packages on which the uses are measured. They led to no framing and no weight."""

_MODULES = 80
"""Modules that are read of a large package, drawn at random."""
_DOCSTRING = re.compile('"""')

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """A documented function. `head` ends with the colon of its signature; `body` is its code."""

    package: str
    name: str
    qualname: str
    head: str
    body: str
    docstring: str

    @property
    def code(self) -> str:
        """The function without its docstring."""
        return f"{self.head}\n{self.body}"


def version_of(package: str) -> str:
    """Return the version of a downloaded package."""
    found = next(iter((CACHE / package).glob("*.dist-info")))
    return metadata.Distribution.at(found).version


def modules(package: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield path, text and tree of some modules of a package in which a pattern is found."""
    texts = package_texts(package)
    found = [
        path
        for path, text in texts.items()
        if not Path(path).name.startswith("test_") and pattern.search(text)
    ]
    random.Random(package).shuffle(found)
    for path in found[:_MODULES]:
        if tree := _parsed(texts[path]):
            yield path, texts[path], tree


def _parsed(text: str) -> ast.Module | None:
    with contextlib.suppress(SyntaxError, ValueError), warnings.catch_warnings(action="ignore"):
        return ast.parse(text)
    return None


def documented_functions(package: str) -> Iterator[Function]:
    """Yield the functions of a package that have a docstring and code after it."""
    for path, text, tree in modules(package, _DOCSTRING):
        lines = text.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, FunctionNode) and len(node.body) > 1:
                docstring = node.body[0]
                if ast.get_docstring(node) and docstring.lineno > node.lineno:
                    yield _function(package, path, lines, node)


def _function(package: str, path: str, lines: list[str], node: FunctionNode) -> Function:
    docstring = node.body[0]
    assert isinstance(docstring, ast.Expr)
    assert isinstance(docstring.value, ast.Constant)
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    head = lines[first - 1 : docstring.lineno - 1]
    body = lines[docstring.end_lineno or 0 : node.end_lineno]
    split = len(head)
    code = textwrap.dedent("\n".join([*head, *body])).split("\n")
    return Function(
        package=package,
        name=node.name,
        qualname=f"{path}:{node.lineno}:{node.name}",
        head="\n".join(code[:split]),
        body="\n".join(code[split:]).strip("\n"),
        docstring=inspect.cleandoc(str(docstring.value.value)),
    )
