"""The server's own keys and certificates, the exchange of these between replicas, and kubeconfigs.

Start reading at `certificates.ensure_certificates`, `identity.take_shared` and `kubeconfig.write_kubeconfig`.
"""
