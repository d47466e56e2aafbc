"""What serves resources: one replaceable endpoint each, the table that finds them, and routing by rule."""
