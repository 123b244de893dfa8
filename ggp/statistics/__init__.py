"""Confidence intervals of means.

In come scores, out go bounds on their mean. Begin with `intervals`; `betting` has bounds that hold
however often one looks.
"""
