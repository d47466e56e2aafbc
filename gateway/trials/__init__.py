"""What a throw-away server lets tests do to it: snapshots of its state, and time that is set forward."""
