"""Rights that a worker gives up before it touches a stranger's rules.

In come the paths that it must be able to read, out comes a process that can do little else. Begin
with `sandbox`, which applies everything; `readable` lists what may be read, `landlock` enforces
that, `seccomp` refuses the system calls in `calls`, and `privileges` change the user of the
process.
docs/reference/security.md has the whole list.
"""
