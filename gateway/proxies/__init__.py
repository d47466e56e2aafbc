"""Subresources that other servers answer: logs, exec, attach and portforward of pods; proxies of pods, services, nodes.

`logs` and `sessions` call the kubelet of the pod's node, which `kubelets` finds. `proxy` passes any request on to a
pod, a service's endpoint or a node, at addresses that `addresses` allows. Clients with a WebSocket are served by
`channels` (exec and attach, version 5; it speaks SPDY to the kubelet by `spdy`) and by `carried` (portforward).
"""
