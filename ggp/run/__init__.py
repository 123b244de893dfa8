"""What every part needs of the system: processes, clocks, sockets and files, whatever is played.

Begin with `processes`: how a child starts, what it may use and how it ends. `calls` have functions
called in a child, and `messages` is the form in which processes talk. `clocks` tell wall time and
CPU time, also that of several processes that share work. `sockets` listen. `whole_files` writes a
file completely or not at all.
"""
