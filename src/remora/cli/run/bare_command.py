"""`remora` without a command, which names the command that has a result in the project."""

from remora.cli.app.options import Options
from remora.cli.app.output import emit, wrapped
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import working


def print_next_step(options: Options) -> bool:
    """Print the command that has a result in the project. Return False if there is no project."""
    from remora.files.project_root import is_project

    invocation = invocation_of(options)
    root = invocation.find_root()
    if not is_project(root) and not any(root.glob("*.py")):
        return False
    with working(options, "looking at the project"):
        from remora.bootstrap.open_project import open_project
        from remora.cli.views.plan_view import step_document
        from remora.usecases.look_at_project import next_step

        project = open_project(invocation)
        step = step_document(options, project.root, next_step(invocation, project))
    document = {"root": str(project.root), "next": step}
    texts = filter(None, (step["text"], step["costly"]))
    emit(options, document, (line for text in texts for line in wrapped(text)))
    return True
