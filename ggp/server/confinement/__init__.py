"""Rights that a worker gives up before it reads a stranger's rules.

A worker calls `sandbox.restrict` once; afterwards its process can do little but compute. Begin with
`sandbox`, which applies everything. `landlock` lists the readable paths and refuses all others;
`seccomp` refuses system calls. docs/reference/security.md has the whole list.
"""
