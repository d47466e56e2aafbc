"""What nodes may do (page "Using Node Authorization")."""
