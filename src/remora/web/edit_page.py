"""The page on which the proposed files of a change set are edited before they are accepted.

An edit is merged with what the user changed since the page was opened, as in `remora review`.
"""

from asyncio import to_thread
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from remora.errors import Conflict, RemoraError, UsageError
from remora.runs.review.edited_files import is_editable, with_edited_content
from remora.text import HIDDEN
from remora.usecases.review import review_parts
from remora.web.agent_records import Records
from remora.web.forms import MAX_FORM, Form, number, one, read_form
from remora.web.html_responses import page
from remora.web.review_page import back_to_review, open_for_verdicts, verdict_text
from remora.web.session import Session
from remora.web.visible_text import editable, from_editable
from remora.workspaces.apply.transaction import FilePatch

_MAX_BYTES = MAX_FORM // 6
"""Bytes of the files. The newline of a text area has six bytes in a form: `%0D%0A`."""
_FIELD = "content-"
"""The beginning of the name of a text area, before the file's place in the change set."""


class EditedFile(NamedTuple):
    """A text area: the place of its file in the change set, the file's path, and its text.

    Hidden characters of the text are named. `has_hidden` is true if names in it stand for them,
    because the proposed file has some.
    """

    place: int
    path: str
    text: str
    has_hidden: bool


def edit_page(records: Records, session: Session, request: Request) -> Response:
    """Return the form in which the proposed files of a change set are edited."""
    run, agent = request.path_params["run"], request.path_params["agent"]
    try:
        files = review_parts.proposed_files(run, agent, root=records.whole_project())
    except Conflict as error:
        raise Conflict(
            "A change set in conflict cannot be edited",
            hint=f"{error.message}. The review shows both versions.",
        ) from error
    shown = [
        EditedFile(place, file.path, _area(file.theirs or b""), _has_hidden(file.theirs or b""))
        for place, file in enumerate(files)
        if is_editable(file) and _is_kept(file.theirs or b"")
    ]
    if sum(len(each.text.encode()) for each in shown) > _MAX_BYTES:
        raise UsageError(
            "the files are too large to be edited here", hint="edit them with `remora review`"
        )
    fields = {**request.query_params, "edit": session.keep_edit(agent, files)}
    paths = {each.path for each in shown}
    left_out = [file.path for file in files if file.path not in paths]
    return _form(session, request, fields, shown, left_out=left_out)


async def accept_edit(records: Records, session: Session, request: Request) -> Response:
    """Accept the edited files of a form. If they are not accepted, show them again with the reason."""
    form = await read_form(session, request)
    if isinstance(form, Response):
        return form
    return await to_thread(_accept, records, session, request, form)


def _accept(records: Records, session: Session, request: Request, form: Form) -> Response:
    run, agent = request.path_params["run"], request.path_params["agent"]
    proposed = session.edit_of(agent, one(form, "edit"))
    texts = {
        number(name[len(_FIELD) :]): one(form, name) for name in form if name.startswith(_FIELD)
    }
    try:
        if proposed is None:
            raise UsageError("this form is too old", hint="copy your text, and start again")
        edited = _with_texts(proposed, texts)
        done = review_parts.accept_edited(run, agent, edited, root=open_for_verdicts(records))
        if not done.conflicts:
            return back_to_review(session, run, form, verdict_text(done), one(form, "next"))
        message = verdict_text(done)
    except RemoraError as error:
        message = error.with_hint
    fields = {name: one(form, name) for name in form} | ({} if proposed else {"edit": ""})
    files = dict(enumerate(proposed or ()))
    shown = [
        EditedFile(
            place,
            files[place].path if place in files else f"file {place + 1}",
            editable(_lines(text)),
            place in files and _has_hidden(files[place].theirs or b""),
        )
        for place, text in texts.items()
    ]
    return _form(session, request, fields, shown, message=message)


def _form(
    session: Session,
    request: Request,
    fields: Mapping[str, str],
    files: Sequence[EditedFile],
    *,
    left_out: Sequence[str] = (),
    message: str = "",
) -> HTMLResponse:
    """Return the form with texts, and with a message if they were not accepted."""
    return page(
        "edit.html",
        status=422 if message else 200,
        run=request.path_params["run"],
        agent=request.path_params["agent"],
        edit=fields["edit"],
        by=fields.get("by", "file"),
        next=fields.get("next", ""),
        files=files,
        left_out=left_out,
        message=message,
        form_token=session.form_token,
    )


def _with_texts(proposed: Sequence[FilePatch], texts: Mapping[int, str]) -> list[FilePatch]:
    """Return proposed files with the texts of text areas.

    Raises UsageError if no text differs from its file, or if a file does not exist or became empty.
    """
    if strange := [place for place in texts if place >= len(proposed)]:
        raise UsageError(f"the change set has no file {strange[0] + 1}")
    edited = [
        with_edited_content(file, _content(texts[place], file.theirs or b""))
        if place in texts
        else file
        for place, file in enumerate(proposed)
    ]
    if edited == [*proposed]:
        raise UsageError(
            "nothing was edited, so nothing was decided",
            hint="accept the change set on the page of the review",
        )
    return edited


def _content(text: str, before: bytes) -> bytes:
    """Return the bytes of a text area, with the line ends of the file as it was proposed.

    A browser ends all lines with CR LF. Names of hidden characters stand for them if the file has
    some.
    """
    lines = (from_editable(_lines(text)) if _has_hidden(before) else _lines(text)).encode()
    return lines.replace(b"\n", b"\r\n") if b"\r\n" in before else lines


def _lines(text: str) -> str:
    """Return a text whose lines end with LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _has_hidden(content: bytes) -> bool:
    return HIDDEN.search(_lines(content.decode())) is not None


def _area(content: bytes) -> str:
    """Return the text of a text area."""
    return editable(_lines(content.decode()))


def _is_kept(content: bytes) -> bool:
    """Return True if a text area returns the bytes of a file.

    It does if all lines end alike, and the text has nothing that names a hidden character.
    """
    return _content(_area(content), content) == content
