"""Rights that a worker gives up before it touches a stranger's rules.

In come the paths that it must be able to read, out comes a process that can do little else. Begin
with `sandbox`, which applies everything; `landlock` lists what may be read, and enforces that;
`seccomp` refuses system calls. docs/reference/security.md has the whole list.
"""
