"""Runs tests and calls of a project's functions, each in its own process, and writes the results.

It runs in the project's interpreter (Python 3.8 or newer), which need not have Remora: the standard
library, pytest for tests and Hypothesis for properties are all it imports. Standard input holds one JSON object:

    root      the tree, absolute and resolved; `away` what must not be imported from
    out       an existing private folder: one file for each order, or for each call of it
    scratch   a folder beneath it that libraries may keep things in
    paths     folders that modules are imported from, first of all others
    shift     seconds by which every clock of Python's is put forward
    orders    what is to be done, one after the other

An order says how many `seconds` it may take, and may put another text into a file (`path`, `text`)
while the order runs. Either `calls` are expressions about `module`, the file `path`, of which each
may take `each` seconds and `patience` may take longer, and `properties` are groups of tests by name and
text, of which each is tried with so many `examples` and may take `each_property` seconds, until one of
its group holds; or `ids` are tests of
pytest's. The reader does not trust the results: the project's code could have written them.
"""
