"""One copy of what etcd holds for all processes of a server: one of them reads etcd, the others map its memory.

The feeder (publisher.py) has the only watch on etcd. It writes each value into a segment of shared memory (segments.py)
and tells the workers where it is (records.py), over a unix socket. A worker (subscriber.py, shared_watch.py) keeps an
entry for each object that points there (located.py). Without the feeder a worker goes on with a watch of its own, so
that nothing depends on it but memory and CPU time.
"""
