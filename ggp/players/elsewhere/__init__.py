"""Players in other processes: `from_json` writes decisions for them, logs and records.

It also reads and checks what comes back, for it may come from strangers.
"""
