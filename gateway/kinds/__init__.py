"""What is served: the registry, and all that is known of each kind."""
