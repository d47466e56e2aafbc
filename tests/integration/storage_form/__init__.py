"""An etcd that a kube-apiserver has written, in protobuf, served by this server."""
