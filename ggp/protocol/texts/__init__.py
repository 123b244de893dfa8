"""Texts of messages, read and printed.

In come texts of servers, out go messages as values, and the other way round. Begin with `reading`.
`forms` splits a text and prints messages, and `spelling` reads its rules and terms, and keeps the
server's own words for them.
"""
