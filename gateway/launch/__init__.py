"""From settings to a serving process, and to its end: etcd, keys, the port, the processes, what a start waits for.

Enter by `launch.launch`. `process` runs one server process, `app` is its application, `background` its other tasks.
"""
