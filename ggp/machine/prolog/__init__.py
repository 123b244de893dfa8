"""The reference backend: SWI-Prolog through pyswip.

In comes a `Program`, out goes a `Machine`. Start with `prolog_machine`, which
also translates rules to clauses, with numbers for names. `engine` is the only module that calls
Prolog; a watchdog interrupts calls that take too long.
"""
