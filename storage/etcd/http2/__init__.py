"""The part of HTTP/2 and gRPC that unary calls of etcd need, on the event loop (RFC 9113, 7541; gRPC over HTTP2).

Read: frames, headers, answers, connection, line.
"""
