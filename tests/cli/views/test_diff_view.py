"""`diff`: changes as patches."""

from remora.cli.views.diff_view import files_created_twice

NEW = (
    "diff --git a/t.py b/t.py\nnew file mode 100644\n--- /dev/null\n+++ b/t.py\n@@ -0,0 +1 @@\n+x\n"
)
CHANGED = "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-x\n+y\n"


def test_files_that_several_change_sets_create_are_found() -> None:
    """`git apply` keeps only one of them without a warning."""
    assert files_created_twice([{"diff": NEW}, {"diff": CHANGED}]) == []
    assert files_created_twice([{"diff": NEW}, {"diff": CHANGED}, {"diff": NEW}]) == [("t.py", 2)]
