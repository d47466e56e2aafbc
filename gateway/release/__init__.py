"""The Kubernetes release that the server serves, as an object: its versions and feature gates (data/)."""
