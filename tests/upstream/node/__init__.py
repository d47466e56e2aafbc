"""Real nodes on the server: kubelet, containerd, runc and kube-proxy, in Linux namespaces."""
