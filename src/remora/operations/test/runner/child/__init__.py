"""Runs tests and calls of a project's functions, each in its own process, and writes the results.

The program runs in the project's interpreter (Python 3.8 or newer), in which Remora need not be
installed. It imports only the standard library, pytest for tests, and Hypothesis for properties.
Standard input is one JSON object:

    root      absolute and resolved path of the tree
    away      folder that nothing may be imported from
    out       existing private folder for the results: one file per order, call or property
    scratch   folder in `out` for files that libraries write
    paths     folders that come first in the import path
    shift     number of seconds by which Python's clocks are set forward
    orders    the work, in order

An order has a time limit in `seconds` and may replace the text of a file (`path`, `text`) while it
runs. There are two kinds of orders. The first has `calls`, which are expressions in the namespace
of `module` (file `path`), each with a limit of `each` seconds. The order stops after `patience`
timeouts. It may also have `properties`: groups of tests by name and text, each tried with
`examples` examples and a limit of `each_property` seconds until one of the group holds. The second
kind has the `ids` of pytest tests. The reader does not trust the results: the project's code could
have written them.
"""
