"""Role based access control (Kubernetes, "Using RBAC Authorization")."""
