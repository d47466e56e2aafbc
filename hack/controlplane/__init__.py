"""The parts of hack/control_plane.py: programs, servers, a fake kubelet, and what they have to bring about."""
