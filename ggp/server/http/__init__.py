"""The network side of the server: sockets, HTTP, and a process that keeps connections alive.

Bytes of game servers and strangers come in, the answers of `ggp.server.host` go out. Begin with
`http_server`: each connection carries one request and one answer. `listening` opens the socket
before anything slow is imported, and talks to a service manager. `supervisor` holds the socket and
the waiting connections while a server restarts.
"""
