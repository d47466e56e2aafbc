"""The Node authorizer: what kubelets may do (page "Using Node Authorization")."""
