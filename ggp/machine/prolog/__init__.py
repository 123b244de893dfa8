"""The reference backend: SWI-Prolog through pyswip.

In comes a `Program`, out goes a `Machine`: `prolog_machine`, the one to open first. `compile` makes
clauses of rules (`either`, `linear`) and `fluents`, with numbers for names (`symbols`). `engine` is
the only module that talks to Prolog, in a `helper` thread and under a `watchdog`; `states` are
interned there.
"""
