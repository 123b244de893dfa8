"""Interface to the operating system: child processes, clocks, sockets and files.

Begin with `processes`: it starts, limits and ends children. `calls` calls functions in a child, and
`messages` defines the form of messages between processes. `clocks` measures wall time and CPU time,
also of several processes that share work. `sockets` opens listening sockets. `whole_files` writes a
file completely or not at all.

There are two ways to start a child, and both are needed. A new Python (`processes.start`) takes
some tenths of a second and begins with nothing loaded; it serves calls: grounding, compiling
kernels, matches, third-party players. A copy (`processes.fork`) is ready in a moment with
everything loaded, but its parent must have one thread, or know what its threads hold: workers of a
server are copies of a template, a server is a copy of its supervisor, and a search is shared among
copies. All children die with their parent, limit themselves before they read a stranger's rules,
talk in `messages`, and are killed as a group before they are waited for.

Pebble 5.2 and loky 3.7 were tried in place of `calls`. Pebble kills a call at its deadline and
names the crashed process; loky can only kill a whole pool. In both, a call cannot send anything
before its result or when it is interrupted, and its own children survive it. It shares the session
of the terminal, so that Ctrl-C ends it too, and outlives a parent that is killed. Neither library
copies a template.
"""
