"""Servers and clients of an etcd that is restored, hangs or is cut off. The expected behaviour is that of a current
etcd.
"""
