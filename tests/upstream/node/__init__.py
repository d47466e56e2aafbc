"""A cluster of real nodes on the server: kubelet, containerd, runc, kube-proxy, in namespaces."""
