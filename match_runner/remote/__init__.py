"""Players elsewhere: what servers are like (`servers`), what is said (`wire`, `scrambling`), how it
gets there (`post`, `host_names`), and all remote players of a match (`remote_players`)."""
