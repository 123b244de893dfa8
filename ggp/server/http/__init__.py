"""The entrance: sockets, HTTP, and processes that keep connections safe.

In come bytes from game servers and strangers, out go the answers of `ggp.server.host`. Begin with
`http_server`; each connection reads one request (`incoming`) and is answered once. `listening`
opens the socket before anything slow is imported, and talks to a service manager. `supervisor`
holds it and the waiting connections while a server restarts.
"""
