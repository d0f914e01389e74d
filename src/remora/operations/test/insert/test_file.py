"""A test file: its text before a change, and the tests that are written into it."""

import ast
import textwrap
from collections.abc import Sequence

from msgspec.structs import replace

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.edit.name_binding import free_names, importable_names
from remora.code.edit.parsed_text import ParsedText
from remora.code.edit.text_lines import Text, decode, newline_of, split_lines, with_newline
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.judges.calls.target_function import TargetFunction
from remora.judges.lint.new_findings import new_findings
from remora.operations.test.insert.added_tests import with_blocks
from remora.operations.test.insert.further_cases import FurtherCase, with_further_cases
from remora.operations.test.insert.new_file import NO_PACKAGE, make_package, tolerated_rules
from remora.operations.test.insert.written_tests import WrittenTests, check_names
from remora.operations.test.insert_location import InsertLocation
from remora.tools.host.ruff.finding import Finding
from remora.tools.host.style_config import black_options, formatter_width, width_of
from remora.tools.tree import ToolTree

_USUAL_INDENT = "    "
_UNFORMATTED = b"a  =  1\n"
"""A line that a formatter changes, if it formats the file."""

_MOST_SHOWN = 5
"""Findings that a refusal names."""
_SHOWN = 60
"""Characters of a line with a finding."""


def insert_tests(
    place: ToolTree,
    subject: TargetFunction,
    home: InsertLocation,
    before: Text,
    written: WrittenTests,
) -> None:
    """Add tests to the content `before` of their file, and write it.

    Names that the function's module has are imported. Raises HostError like `save_tests`.
    """
    tree = parse_text(before.body)
    if not isinstance(tree, ast.Module):
        raise HostError(f"{home.path} does not parse")
    check_names(written, tree, home.path)
    is_package = subject.path.endswith("__init__.py")
    known = {
        "pytest": Imported("pytest", "", "pytest"),
        **importable_names(subject.source.tree, subject.module, is_package=is_package),
        **own_imports(subject, home),
        **({home.alias: module_import(place, home)} if home.alias else {}),
    }
    own = {name.bound.partition(".")[0] for name in written.imports} | {*written.names}
    needed = [known[name] for name in sorted(free_names([written.tree]) - own) if name in known]
    blocks = [
        replace(
            block, text=formatted_lines(place, home, block.text, levels=bool(block.owner)) + "\n"
        )
        for block in written.blocks
    ]
    width = width_of(place, home.path)
    body = with_blocks(before.body, home, blocks, [*written.imports, *needed], width)
    save_tests(place, home, before._replace(body=body))


def write_further(place: ToolTree, home: InsertLocation, cases: Sequence[FurtherCase]) -> None:
    """Add further cases to existing tests of a file.

    Raises HostError, without writing anything, if the file would have new findings or longer lines.
    """
    text = text_before(place, home)
    body = with_further_cases(cases, ParsedText(text.body), home.quote)
    known, width = {*split_lines(text.body)}, width_of(place, home.path)
    if any(len(line) > width for line in split_lines(body) if line not in known):
        raise HostError(f"{home.path}: a line would be longer than {width} characters")
    save_tests(place, home, text._replace(body=body))


def module_import(place: ToolTree, home: InsertLocation) -> Imported:
    """Return the import of the module under its alias, as the file or other tests have it."""
    whole = Imported(home.imports_from, "", home.alias)
    parent, _, last = home.imports_from.rpartition(".")
    inner = Imported(parent, last, home.alias)
    tree = parse_text(_text_of(place, home).body)
    names = [*imported_names(tree)] if isinstance(tree, ast.Module) else []
    if inner in names or (whole not in names and home.alias == last and parent):
        return inner
    return whole


def save_tests(place: ToolTree, home: InsertLocation, text: Text) -> None:
    """Write a test file. Raises HostError, without writing anything, if it has new findings."""
    content = content_of(place, home, text)
    content = content if home.exists else formatted_file(place, home, content)
    content = _without_findings(place, home, content)
    (place.write if home.exists else place.create)(home.path, content)


def content_of(place: ToolTree, home: InsertLocation, text: Text) -> bytes:
    """Return a text as the bytes of the test file, whose lines keep their ends."""
    body = decode(home.path, place.read(home.path)).body if home.exists else ""
    return text._replace(body=with_newline(text.body, newline_of(body))).bytes()


def _text_of(place: ToolTree, home: InsertLocation) -> Text:
    text = decode(home.path, place.read(home.path) if home.exists else b"")
    body = with_newline(text.body, "\n")
    if with_newline(body, newline_of(text.body)) != text.body:
        raise HostError(f"{home.path}: its lines do not all end in the same way")
    return text._replace(body=body)


def text_before(place: ToolTree, home: InsertLocation) -> Text:
    r"""Return the test file with lines that end with `\n`, or the beginning of a new one."""
    text = _text_of(place, home)
    return text if home.exists else text._replace(body=home.header)


def _described(finding: Finding, lines: Sequence[str]) -> str:
    line = "".join(lines[finding["line"] - 1 : finding["line"]])  # none after the last line
    return f"{finding['code']}: {finding['message']} (`{line.strip()[:_SHOWN]}`)"


def _without_findings(place: ToolTree, home: InsertLocation, content: bytes) -> bytes:
    """Return the content with sorted imports and other safe fixes, if lint rules require them.

    Raises HostError if the change still adds findings, but for rules that other tests do not
    follow.
    """
    found = place.ruff.check_text(home.path, place.read(home.path)) if home.exists else []
    extra = new_findings(found, place.ruff.check_text(home.path, content))
    if any(finding["code"].startswith("I0") for finding in extra):
        content = place.ruff.with_sorted_imports(home.path, content)
        extra = new_findings(found, place.ruff.check_text(home.path, content))
    codes = {finding["code"] for finding in extra} - {finding["code"] for finding in found}
    if codes:
        content = place.ruff.fix_text(home.path, content, sorted(codes))
        extra = new_findings(found, place.ruff.check_text(home.path, content))
    if extra:
        known = tolerated_rules(place, home.path, found)
        extra = [finding for finding in extra if not finding["code"].startswith(known)]
    package = ""
    if {finding["code"] for finding in extra} == {NO_PACKAGE}:
        package = make_package(place, home.path)
    if extra and not package:
        lines = split_lines(decode(home.path, content).body)
        texts = dict.fromkeys(_described(finding, lines) for finding in extra[:_MOST_SHOWN])
        raise HostError(f"{home.path}: it would add {'; '.join(texts)}")
    if home.unittest and not home.exists and not package:
        make_package(place, home.path)  # from the root, unittest finds tests in packages only
    return content


def own_imports(subject: TargetFunction, home: InsertLocation) -> dict[str, Imported]:
    """Map each name defined in the target's module to the import of that name in a test."""
    return {
        statement.name: Imported(home.imports_from, statement.name, statement.name)
        for statement in subject.source.tree.body
        if isinstance(statement, ast.FunctionDef | ast.ClassDef)
    }


def formatted_lines(place: ToolTree, home: InsertLocation, body: str, *, levels: int) -> str:
    """Return statements as ruff formats them in a test file, indented by some levels there."""
    text = "".join(f"{' ' * 4 * level}if 1:\n" for level in range(levels))
    text += textwrap.indent(body, " " * 4 * levels) + "\n"
    done = formatted_file(place, home, text.encode()).decode()
    return textwrap.dedent("\n".join(split_lines(done)[levels:])).strip("\n")


def formatted_file(place: ToolTree, home: InsertLocation, content: bytes) -> bytes:
    """Return the content of a test file formatted like a draft.

    Without a formatter, and in a file that the project excludes from formatting, only the width of
    the lines is the project's.
    """
    own = ["--line-length", str(width_of(place, home.path))]
    is_unusual = home.quote == "'" or home.indent != _USUAL_INDENT
    if home.quote == "'":
        own += ["--config", 'format.quote-style="single"']
    if home.indent != _USUAL_INDENT:
        spaces = f"indent-width={len(home.indent)}"
        style = 'format.indent-style="tab"' if home.indent == "\t" else spaces
        own += ["--config", style]
    options = black_options(place, home.path)
    if options is None and (is_unusual or formatter_width(place, home.path) is None):
        options = own
    try:
        if (
            options is None
            and place.ruff.format_text(home.path, _UNFORMATTED, None) == _UNFORMATTED
        ):
            options = own
        return place.ruff.format_text(home.path, content, options)
    except HostError:  # it does not parse, which the checks report
        return content
