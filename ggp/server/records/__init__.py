"""What the server keeps of matches, and how it finds them again.

In comes what happens in a match, out goes a file with a JSON object a line (`match_log`, the one to
open first). `restore` reads such files when a server is started again.
"""
