"""One copy of etcd's values for all processes of a server: the feeder reads etcd, the workers map its memory.

The feeder (publisher.py) has the only watch on etcd. It writes each value into a segment of shared memory (segments.py)
and sends its place (records.py) to the workers, over a Unix socket. A worker (subscriber.py, shared_watch.py) keeps an
entry per object that points there (located_values.py). Without the feeder a worker goes on with its own watch on etcd:
the feeder only saves memory and CPU time.
"""
