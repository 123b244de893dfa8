"""The level of log messages that everybody should see, though nothing is wrong."""

NOTE = 25
"""Between `logging.INFO` and `logging.WARNING`."""
