"""Starts a server from its settings, and stops it: etcd, keys and certificates, the port, the processes.

The entry point is `launch.launch`. `process` runs one server process, `app` is its ASGI application, and `background`
has the tasks that run beside the requests.
"""
