"""Lists jobs by file, with their status and their fixed and remaining findings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from remora.cli.app.output import color_word, wrap_text
from remora.ids import MODULE, split_node_key
from remora.operations.base import is_lint_code
from remora.runs.records.findings import done_text, fixed_and_left, work_text
from remora.runs.records.totals import Document
from remora.statuses import CONFLICT, FAILED, NO_CHANGE, PENDING, STALE, proven_text, status_text
from remora.text import count, escape_line

SAME_CHANGE = "the retry produced the same change as before"
_LONGEST = 32
"""Columns for node names on an 80-column terminal; wider terminals give names all extra columns."""


_MAX_NAMES, _MOST_RULES = 3, 12
"""Names of functions, and of rules, that are shown (decision)."""


def job_lines(jobs: Sequence[Document], width: int | None, *, verbose: bool) -> Iterator[str]:
    """Yield a heading for each file and a line for each job, with the reason if the job failed.

    The unchanged jobs of a file share one line, and a reason is told once. If `verbose` is true,
    each job has its own line, followed by its agent ID, number of turns and deciders.
    """
    states = max((len(state_word(job)) for job in jobs), default=0)
    names = _job_names(jobs)
    longest = max(map(len, names), default=0)
    columns = states, longest if width is None else min(longest, max(_LONGEST, width - 48))
    named = zip(_with_errors_once(jobs), names, strict=True)
    for path, group in groupby(named, key=lambda pair: split_node_key(pair[0]["node_id"])[0]):
        yield escape_line(path)
        rows = list(group)
        unchanged = [] if verbose else [job for job, _ in rows if _is_unchanged(job)]
        for job, name in rows:
            if len(unchanged) > 1 and _is_unchanged(job):
                continue
            yield from _job(job, name, columns, width)
            if verbose:
                yield from _verbose_lines(job, " " * (states + 4), width)
        if len(unchanged) > 1:
            yield from _unchanged_lines(unchanged, columns, width)


def code_lines(jobs: Sequence[Document], width: int | None) -> Iterator[str]:
    """Yield the names of lint rules of the jobs by code, of fixed ones first, then the most frequent."""
    fixed, codes = Counter[str](), Counter[str]()
    for done, left in filter(None, map(fixed_and_left, jobs)):
        fixed.update(code for code in done if is_lint_code(code))
        codes.update(code for code in (*done, *left) if is_lint_code(code))
    if codes:
        from remora.tools.host.ruff.rules import rule_codes, with_name

        codes_of_ruff = rule_codes()
        often = dict.fromkeys(code for code, _ in (*fixed.most_common(), *codes.most_common()))
        known = [code for code in often if code in codes_of_ruff][:_MOST_RULES]
        said = ", ".join(with_name(code).replace(" ", "\N{NO-BREAK SPACE}") for code in known)
        yield from wrap_text(f"codes: {said}", width, "  ") if said else ()


def _with_errors_once(jobs: Sequence[Document]) -> Iterator[Document]:
    told = set[str]()
    for job in jobs:
        error = job["error"]
        yield {**job, "error": "for the same reason"} if error and error in told else job
        told.add(error)


def state_word(job: Document) -> str:
    review = job["review"]
    is_open = review in ("", PENDING)
    return proven_text(job["status"], job.get("proof")) if is_open else status_text(review)


def review_counts(jobs: Sequence[Document]) -> str:
    """Return the number of jobs in each state, such as `20 accepted, 2 conflict, 1 no change`."""
    words = Counter(map(state_word, jobs))  # in the order of the first job of each state
    known = sorted(words, key=lambda word: word == status_text(NO_CHANGE))
    return ", ".join(f"{words[word]:,} {color_word(word)}" for word in known)


def turns_text(job: Document) -> str:
    """Return the number of turns and the deciders of a job, such as `4 turns: rule 3, model 1`."""
    deciders = _deciders_text(job["decided_by"])
    return count(job["turns"], "turn") + (f": {deciders}" if deciders else "")


def conflict_lines(job: Document) -> Iterator[str]:
    """Yield each place where the change set conflicts with the user's files."""
    for conflict in job["conflicts"]:
        yield f"{conflict['path']}: {conflict['detail']}"


def _job(job: Document, name: str, columns: tuple[int, int], width: int | None) -> Iterator[str]:
    yield from _state_lines(state_word(job), name, _work_text(job), columns, width)
    for reason in _reason_lines(job):
        yield from _indented(reason, " " * (columns[0] + 4), width)


def _state_lines(
    state: str, name: str, text: str, columns: tuple[int, int], width: int | None
) -> Iterator[str]:
    states, names = columns
    begin = f"  {state.ljust(states)}  {name.ljust(names)}"
    first, *more = _wrap_after(begin, text, " " * (states + 4), width)
    yield f"  {color_word(state)}{first[2 + len(state) :]}".rstrip()
    yield from more


def _indented(text: str, indent: str, width: int | None) -> list[str]:
    lines = wrap_text(escape_line(text), _remaining_width(width, indent))
    return [indent + line for line in lines]


def _verbose_lines(job: Document, indent: str, width: int | None) -> Iterator[str]:
    if job["why"] and (_is_unchanged(job) or job["status"] == FAILED):
        why = job["why"] if _is_unchanged(job) else f"last step: {job['why']}"
        yield from _indented(why, indent, width)
    for text in job["left"]:
        yield from _indented(f"left {text}", indent, width)
    if job.get("groups"):
        yield from _indented(job["groups"], indent, width)
    yield f"{indent}{job['agent_id']}, {turns_text(job)}"


def _is_unchanged(job: Document) -> bool:
    return job["status"] == NO_CHANGE and not (job["error"] or job.get("reasons"))


def _unchanged_lines(
    jobs: Sequence[Document], columns: tuple[int, int], width: int | None
) -> Iterator[str]:
    """Return one line for all unchanged jobs of a file, with their remaining findings."""
    left = Counter[str]()
    for _, codes in filter(None, map(fixed_and_left, jobs)):
        left.update(codes)
    text, number = done_text({}, left), count(len(jobs), "part")
    return _state_lines(status_text(NO_CHANGE), number, text, columns, width)


def _wrap_after(begin: str, text: str, indent: str, width: int | None) -> list[str]:
    """Wrap `text` after `begin`, or on the next line if there is too little space after `begin`."""
    if not text:
        return [begin]
    space = _remaining_width(width, begin + "  ")
    if space is None or space >= min(len(text), 24):
        first, *more = wrap_text(text, space)
        return [f"{begin}  {first}", *(" " * (len(begin) + 2) + line for line in more)]
    return [begin, *(indent + line for line in wrap_text(text, _remaining_width(width, indent)))]


def _remaining_width(width: int | None, before: str) -> int | None:
    return None if width is None else max(20, width - len(before))


def _work_text(job: Document) -> str:
    """Return what a job did, and who decided unless rules made all decisions.

    For a planned job, return what it has to do, if that is known.
    """
    if not job["turns"]:
        return str(job.get("work", ""))
    work = work_text(job) or ("" if fixed_and_left(job) else count(job["turns"], "turn"))
    by_others = {
        who: number for who, number in job["decided_by"].items() if number and who != "rule"
    }
    where = f"on branch {escape_line(job['branch'])}" if job["branch"] else ""
    return " · ".join(part for part in (work, _deciders_text(by_others), where) if part)


def _reason_lines(job: Document) -> Iterator[str]:
    if job["review"] == STALE:
        yield "you edited it while the agent was working on it"
    elif job["review"] == CONFLICT:
        yield from conflict_lines(job)
    elif job["error"]:
        yield str(job["error"])
    yield from job.get("reasons", ())
    if job["same"]:
        yield SAME_CHANGE


def _deciders_text(decided_by: Mapping[str, int]) -> str:
    return ", ".join(f"{who} {number}" for who, number in decided_by.items() if number)


def _job_names(jobs: Sequence[Document]) -> list[str]:
    """Return the name of each job in its file, preceded by the operation if there are several."""
    names = [escape_line(_job_name(job)) for job in jobs]
    if len({job["operation"] for job in jobs}) < 2:
        return names
    return [f"{job['operation']} {name}" for job, name in zip(jobs, names, strict=True)]


def _job_name(job: Document) -> str:
    """Return the qualname of a job's node, or what part of the file the job works on."""
    nodes, name = job.get("nodes"), split_node_key(job["node_id"])[1]
    if nodes:
        names = [split_node_key(key)[1] for key in nodes]
        if len(names) <= _MAX_NAMES and MODULE not in names:
            return ", ".join(names)
        return name if name != MODULE else f"{count(len(nodes), 'part')} of the file"
    return "whole file" if nodes == [] else "module" if name == MODULE else name
