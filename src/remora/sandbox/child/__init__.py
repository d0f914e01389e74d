"""Supervisor that starts, confines, watches and ends one command, in a bare interpreter.

Modules in this package import only each other and a few modules of the standard library, because
these imports delay the start of every subprocess.
"""
