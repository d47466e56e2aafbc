"""From settings to a serving process, and to its end: etcd, keys, the port, the processes, what a start waits for.

Enter by `launch`; `app` is what a process runs.
"""
