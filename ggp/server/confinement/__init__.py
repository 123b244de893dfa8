"""Rights that a worker gives up before it touches a stranger's rules.

In comes what it must be able to read, out comes a process that can do little else. Begin with
`sandbox`, which applies everything; `readable` says what may be read, `landlock` enforces that,
`seccomp` refuses the system calls in `calls`, and `privileges` says who the process is.
docs/security.md has the whole list.
"""
