"""Records of the server's matches, and how it finds them again.

In come the events of a match, out goes a file with one JSON object per line (`match_log`, the one
to open first). `restore` reads such files when a server is restarted.
"""
