"""Host functions for the annotations of a file."""

from functools import partial
from itertools import islice
from typing import Any

from remora.code.edit.text_lines import decode
from remora.errors import HostError
from remora.judges.types.slots import SourceText
from remora.operations.types.file_annotations import FileAnnotations, missing_slots, parsed
from remora.operations.types.signature_text import as_signature
from remora.operations.types.types_need import inferred_with
from remora.operations.types.writing.clean_file import without_findings
from remora.tools.tree import ToolTree

CODE = "missing annotation"
_MOST = 3
"""Functions that are described at a time."""


def missing_annotations(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return how many annotations of parameters and results some functions of a file lack.

    `nodes` contains qualnames. If it is empty, all functions of the file count. The result has the
    keys `counts`, which is empty if nothing is missing, and `summary`.
    """
    number = len(missing_slots(parsed(path, decode(path, place.read(path)).body), nodes))
    words = {0: "no annotation is missing", 1: "1 annotation is missing"}
    summary = words.get(number, f"{number} annotations are missing")
    return {"counts": {CODE: number} if number else {}, "summary": summary}


def write_annotations(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Write the annotations of a file that pyrefly finds and that all rules and checkers accept.

    Those that would be scattered, add a diagnostic of the type checker anywhere in the project, or
    a finding of ruff in the file, are left out. Those that `annotate` wrote stay.

    The result has these keys:
    - `written`: the number of annotations
    - `judges`: the type checkers that accepted them
    - `left`: the result of `missing_annotations` for the new content
    - `why_left`: why functions were left, the most frequent reasons first
    """
    work = FileAnnotations(place, path, nodes)
    session, known = work.session, work.written(work.source)
    found = session.annotations(path, place, inferred_with([path], session.texts))
    chosen = {key: term for key, term in found.items() if key[1] in work.slots} | known
    write = partial(session.text, path, proposed=known)
    after, _ = without_findings(place, path, work.before, write, chosen)
    work.save(SourceText(after))
    written = work.written(work.source).keys()
    left = {slot.number for slot in work.slots if (path, slot) not in written}
    return {
        "written": len(written - known.keys()),
        "judges": session.judges,
        "left": missing_annotations(place, path, nodes),
        "why_left": session.why_left(path, left, place.left),
    }


def annotate(
    place: ToolTree, path: str, nodes: list[str], function: str, signature: str
) -> dict[str, Any]:
    """Write those types of a function's signature that all checkers accept.

    The types replace earlier ones of the job, and never those that people wrote. Overriding methods
    get the types of the parameters, too. A type is refused if it adds a diagnostic of a type
    checker anywhere in the project, or a finding of ruff in the file.

    The result has these keys:
    - `written`: the types that were written, as a signature
    - `said`: what is refused and accepted, by what and why, as sentences
    - `header`: the function's first line as it is now
    - `left`: the result of `missing_annotations` for the new content
    """
    work = FileAnnotations(place, path, nodes)
    try:
        asked, refused = work.asked(function, signature)
        kept, said = work.write_accepted(asked)
    except HostError as error:
        kept, refused, said = {}, [], [error.message]
    own = work.definitions(function)
    written = {slot.name: term for (_, slot), term in kept.items() if slot.number in own}
    return {
        "written": as_signature(written) if written else "",
        "said": [*refused, *said],
        "header": work.header(min(own)) if own else "",
        "left": missing_annotations(place, path, nodes),
    }


def functions_to_annotate(
    place: ToolTree, path: str, nodes: list[str], skipped: list[str]
) -> dict[str, Any]:
    """Return the number of functions that lack annotations, and the first ones, without `skipped`.

    What the project leaves out is not missing. The result has these keys:
    - `count`: the number of functions
    - `functions`: for each its qualname in `function`, its missing `names`, where `return` is the
      result, and in `likely` the types that pyrefly has for some
    - `shown`: of the first one, its code in `excerpt`, which is cut in the middle if it is long, some
      calls of its name in `calls`, and the first lines of the class around it and of `__init__` in
      `owner`
    - `known`: the imports and classes of the file
    """
    work = FileAnnotations(place, path, nodes)
    left = work.left(skipped)
    chosen = [work.file.functions[number] for number in islice(left, _MOST)]
    return {
        "count": len(left),
        "functions": [work.described(function, left[function.number]) for function in chosen],
        "shown": work.shown(chosen[0]) if chosen else None,
        "known": sorted({*work.file.imports, *work.file.classes}),
    }
