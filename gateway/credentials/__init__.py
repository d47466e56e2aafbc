"""Keys and certificates of the server itself, how replicas share them, and kubeconfigs.

Enter by `certificates.ensure_certificates`, `identity.take_shared` and `kubeconfig.write_kubeconfig`.
"""
