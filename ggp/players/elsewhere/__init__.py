"""What comes from elsewhere, and is not trusted: players of other packages, decisions told as JSON.

`plug_ins` finds and makes classes of other packages. `from_json` writes and reads decisions,
for other processes, logs and records, and checks what is read.
"""
