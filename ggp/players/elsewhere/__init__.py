"""Untrusted sources: players of other packages, and decisions as JSON.

`plug_ins` imports classes of other packages and makes players of them. `from_json` writes decisions
for other processes, logs and records, and reads and checks them.
"""
