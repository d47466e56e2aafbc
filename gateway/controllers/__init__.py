"""What goes on without a request: `table` has the controllers by name, `running` runs those that are asked for."""
