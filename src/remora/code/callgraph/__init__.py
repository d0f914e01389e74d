"""Call graph: links between nodes (calls, imports, subclasses), computed on demand.

`linker.Linker` answers all questions from outside. A caller question runs backward:

1. `callers/` finds candidate sites by name. `direct_names` are the names of the node itself,
   `aliases` adds the names that its value flows to, `caller_filter` proves each such flow.
2. `names/` resolves without values. `search_scope` picks the files to search, `call_targets` maps a
   candidate site to the nodes it runs, `imported_names` finds imports, `unique_method` and
   `dispatch_limit` handle unknown receivers and too many overrides.
3. `rules/` is the points-to analysis: one rule per kind of question (`rule_table`). `evaluation`
   computes the values of a term, `call_rules` callees, arguments and parameters, `call_results` return
   values, `class_attributes` and `hierarchy` classes, `stdlib_models` external functions.
4. `solver` runs the rules to the least fixpoint. `context` is all that rules see of the program.

A callee question uses steps 2 to 4, then step 1 as a check, so that both directions agree.

Shared parts: `abstract_values` (values and tiers), `module_lookup` (imports to files), `files/`
(indexed IR of a file, dataflow by name, reaching definitions, module interface, file cache).
`incremental` says which stored links a change of files invalidates.
"""
