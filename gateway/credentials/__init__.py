"""Keys and certificates of the server itself, how replicas share them, and the kubeconfigs that show them."""
