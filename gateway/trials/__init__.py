"""The testing API of throw-away servers: snapshots, a clock that tests set forward, faults, and a recorder."""
