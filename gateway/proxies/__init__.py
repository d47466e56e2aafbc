"""Subresources that other servers answer: logs, exec, attach and portforward of pods; proxies of pods, services, nodes.

`logs` and `sessions` ask the kubelet of the pod's node, which `kubelets` finds; `proxying` passes any request on to a
pod, a service's endpoint or a node, at addresses that `addresses` allows. `spdy` and `channels` speak to
the kubelet for clients of exec that come with a WebSocket of version 5, `carried` for those of portforward.
"""
