"""Runs tests and calls of a project's functions, each in its own process, and writes the results.

It runs in the project's interpreter (Python 3.8 or newer), which need not have Remora. It imports
only the standard library, pytest for tests and Hypothesis for properties. Standard input is one JSON
object:

    root      the tree, absolute and resolved; `away` what must not be imported from
    out       an existing private folder: one file for each order, or for each call of it
    scratch   a folder beneath it for files of libraries
    paths     folders that come first in the import path
    shift     seconds that all of Python's clocks are put forward
    orders    the work, in order

An order has a time limit in `seconds` and may replace the text of a file (`path`, `text`) while it runs.
It has either `calls`, expressions about `module` (file `path`) with `each` seconds per call, of which
`patience` may time out; and `properties`, groups of tests by name and text, tried in turn with
`examples` and `each_property` seconds until one of the group holds. Or it has `ids` of pytest tests.
The reader does not trust the results: the project's code could have written them.
"""
