"""An etcd that a kube-apiserver has written, in protobuf, and what becomes of it."""
