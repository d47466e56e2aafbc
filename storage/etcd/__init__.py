"""storage.etcd"""
