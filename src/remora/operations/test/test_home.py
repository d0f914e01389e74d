"""The place of a new test: its file, and what the project requires of it."""

import ast

from msgspec.structs import replace

from remora.code.edit.name_binding import importable_names
from remora.judges.calls.target_function import TargetFunction
from remora.operations.test.insert.new_file import RequiredStyle, file_header, required_style
from remora.operations.test.insert_location import InsertLocation, locate_test, path_for_tests
from remora.operations.test.new_files import naming_of
from remora.tools.host.declared_type_checker import SETTINGS_FILES, mypy_settings
from remora.tools.tree import ToolTree


def home_of(
    place: ToolTree, subject: TargetFunction, tests: dict[str, str], at: str = ""
) -> InsertLocation:
    """Return the location of a new test of the function, which is in the file `at` if it is given."""
    public = _public_modules(subject, place)
    naming = naming_of(place, tests)
    path = at or path_for_tests(subject, tests, place.files.exists, naming)
    required = RequiredStyle() if tests else required_style(place, path)
    home = locate_test(
        subject,
        tests,
        place.files.exists,
        public,
        typed=requires_annotations(place) or required.annotations,
        path=path,
    )
    if required.docstrings:
        home = replace(home, docstring=f'"""Test `{subject.function.name}`."""')
    if home.exists:
        return home
    header = file_header(path, subject.module, tests, docstring=required.module_docstring)
    return replace(home, header=header)


def requires_annotations(place: ToolTree) -> bool:
    """Return True if the project's mypy refuses functions without annotations."""
    files = {name: place.read(name) for name in SETTINGS_FILES if place.files.exists(name)}
    settings = mypy_settings(files) or {}
    refuses = settings.get("disallow_untyped_defs", settings.get("strict", False))
    return str(refuses).lower() in ("true", "1", "yes", "on")


def _public_modules(subject: TargetFunction, place: ToolTree) -> list[str]:
    """Return the packages that provide the function or its class, shortest first."""
    parts = subject.module.split(".")
    folder = f"{subject.import_root}/" if subject.import_root else ""
    name = subject.qualname.partition(".")[0]
    found: list[str] = []
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        path = f"{folder}{'/'.join(parts[:end])}/__init__.py"
        tree = place.syntax_tree(path) if place.files.exists(path) else None
        if tree is None:
            continue
        names = importable_names(tree, package, is_package=True)
        stars = [
            "." * statement.level + (statement.module or "")
            for statement in tree.body
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"
        ]
        whole = any(subject.module.endswith(star.lstrip(".")) for star in stars)
        if (name in names and names[name].module == subject.module) or (
            whole and _is_exported(subject.source.tree, name)
        ):
            found.append(package)
    return found


def _is_exported(tree: ast.Module, name: str) -> bool:
    """Return True if `from module import *` imports the name."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return any(isinstance(n, ast.Constant) and n.value == name for n in ast.walk(value))
    return not name.startswith("_")
