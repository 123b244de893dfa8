"""The reference backend: SWI-Prolog through pyswip.

In comes a `Program`, out goes a `Machine`: `prolog_machine`, the one to open first. `compile` makes
clauses of rules, with numbers for names (`symbols`). `engine` is the only module that
talks to Prolog, in a thread of its own and under a watchdog.
"""
