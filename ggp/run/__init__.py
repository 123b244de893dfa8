"""What every part needs of the system: processes, clocks, sockets and files, whatever is played.

Begin with `processes`: how a child starts, what it may use and how it ends. `calls` have functions
called in a child, and `messages` is the form in which processes talk. `clocks` tell wall time and
CPU time, also that of several processes that share work. `sockets` listen. `whole_files` writes a
file completely or not at all.

A child is started in one of two ways, which cannot be one. A new Python (`processes.start`) takes
some tenths of a second and begins with nothing; it is for calls: grounding, compiling kernels,
matches, players of others. A copy (`processes.fork`) is there in a moment with all that is loaded,
but needs a parent with one thread, or one that knows what its threads hold: workers of a server are
copies of a template, a server is a copy of its supervisor, and a search is shared with copies. All
die with their parent, are limited by themselves before they look at a stranger's rules, talk in
`messages`, and are killed as a group and waited for last.

Pebble 5.2 and loky 3.7 were tried in place of `calls`. Pebble kills a call at its deadline and
names what crashed; loky only kills a whole pool. In neither does a call send anything before its
result, or have last words; what it started lives on after it. It shares the session of a terminal,
so that Ctrl-C ends it too, and outlives a parent that is killed. Neither copies a template.
"""
