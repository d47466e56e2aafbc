"""The Kubernetes release that is served, as an object: its versions and feature gates (`gateway/release/data/`)."""
