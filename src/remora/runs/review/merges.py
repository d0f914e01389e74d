"""Merging changes with files that the user has changed."""

from collections.abc import Sequence

import msgspec

from remora.errors import HostError
from remora.operations.base import Merge
from remora.runs.project import ProjectRecords
from remora.workspaces.apply.merge_change_set import ReadFile
from remora.workspaces.apply.transaction import FilePatch, PreparedChanges, prepare_changes
from remora.workspaces.rooted_files import RootedFiles


def merged(
    project: ProjectRecords, patches: Sequence[FilePatch], read_file: ReadFile | None = None
) -> PreparedChanges:
    """Merge a change set with the user's files, by the rules of the operations if necessary.

    If `read_file` is given, the change set is merged with the files that it returns.
    """
    prepared = prepare_changes(project.root, patches, read_file)
    if not prepared.conflicts:
        return prepared
    return _merged(project, patches, project.operations.merges, read_file)


def removed_from_others(project: ProjectRecords, reverse: Sequence[FilePatch]) -> PreparedChanges:
    """Merge a reversed change set with the user's files, using the rules of all operations."""
    return _merged(project, reverse, project.operations.unmerges)


def _merged(
    project: ProjectRecords,
    patches: Sequence[FilePatch],
    merges: Sequence[Merge],
    read_file: ReadFile | None = None,
) -> PreparedChanges:
    adapted = [_adapt(project, patch, merges, read_file) for patch in patches]
    moved = {new.path for new, old in zip(adapted, patches, strict=True) if new != old}
    prepared = prepare_changes(project.root, adapted, read_file)
    writes = [
        msgspec.structs.replace(write, merged=write.merged or write.path in moved)
        for write in prepared.writes
    ]
    return msgspec.structs.replace(prepared, writes=tuple(writes))


def _adapt(
    project: ProjectRecords, patch: FilePatch, merges: Sequence[Merge], read_file: ReadFile | None
) -> FilePatch:
    """Apply the merge rules to a patch. A patch for a missing file is returned unchanged."""
    ours: bytes | None
    try:
        if read_file is None:
            ours = RootedFiles(project.root).read_bytes(patch.path)
        else:
            ours, _ = read_file(patch.path)
    except HostError:
        return patch
    if ours is None:
        return patch
    for merge in merges:
        patch = merge(project.root, patch, ours)
    return patch
