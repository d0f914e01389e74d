"""Labels of candidates in requests that show a rotated list."""

from remora.models.protocol import Request


def label_of(request: Request, index: int) -> str:
    """The label of a candidate by its place in the packet's list; -1 is the last one."""
    labels = request.decoding.labels
    return labels[(index - request.decoding.rotation) % len(labels)]
