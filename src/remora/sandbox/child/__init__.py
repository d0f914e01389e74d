"""Supervisor of one command, run in a bare interpreter: starts, confines, watches and ends it.

Modules here import nothing of Remora but each other, and little of the standard library: every
subprocess waits for these imports.
"""
