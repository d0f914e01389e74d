"""The call graph: links between nodes (calls, imports, subclasses), computed on demand.

`linker.Linker` is the entry point. It finds the callers of a node in these steps:

1. `callers/` finds candidate sites by name. `direct_names` yields the names of the node itself.
   `aliases` adds the names that its value flows to. `caller_filter` checks each of these flows.
2. `names/` resolves names without points-to values. `search_scope` selects the files to search.
   `call_targets` maps a candidate site to the nodes it executes. `name_candidates` finds calls,
   subclasses and the only method of a name, and too many overrides.
3. `rules/` contains the points-to analysis, with one rule per kind of question (listed in `linker`).
   `points_to` computes the values of a term. `call_rules` finds callees, arguments and parameters,
   and `call_results` finds return values. `class_attributes` and `hierarchy` handle classes, and
   `stdlib_models` handles external functions.
4. `solver` runs the rules to the least fixpoint. The rules access the program only through
   `analysis_context`.

The search for callees uses steps 2 to 4, then step 1 as a check, so that both directions agree.

Several modules are shared. `abstract_values` defines values and tiers, and `module_lookup` maps
imports to files. `files/` contains the indexed IR of a file, dataflow by name, reaching definitions
and a file cache. `incremental` determines which stored links become invalid when files change.
"""
