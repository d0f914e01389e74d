"""Supervisor, run in a bare interpreter, that starts, confines and monitors a single command.

Imports delay the start of every subprocess. For this reason, modules in this package import only
each other and a few modules of the standard library.
"""
