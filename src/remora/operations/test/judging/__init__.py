"""The judgement of tests that a change adds or edits."""
