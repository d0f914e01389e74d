"""Runs tests and function calls of a project, each in its own process, and writes the results.

The program runs in the project's interpreter (Python 3.8 or newer), where Remora does not need to
be installed. It imports only the standard library, and pytest for tests.
Standard input is a JSON object with these keys:

    root      absolute and resolved path of the tree
    away      folder from which nothing may be imported
    out       existing private folder for the results, with a file for each order or call
    scratch   folder in `out` for files that libraries write
    paths     folders at the start of the import path
    shift     number of seconds by which Python's clocks are set forward
    orders    the orders, which are carried out in sequence

Every order has a time limit in `seconds`. There are three kinds of orders.

An order with `calls` evaluates expressions in the namespace of `module` (file `path`). A call has
its expression in `call`, and statements to run before it in `imports` and `setup`. `each` is the
time limit for each call in seconds, and the order stops after `patience` timeouts.

An order with `code` runs statements in such a namespace, and shows the value of the last one.

An order with `ids` runs the pytest tests with these ids and the options `words`, or only collects
them (`collect`).

Orders of calls and tests name the function that they are for (`qualname`, with its `header` lines).
With `mutants`, which are sources of this function, its calls and tests are repeated with each.

The reader does not trust the results, because the project's code could have written them.
"""
