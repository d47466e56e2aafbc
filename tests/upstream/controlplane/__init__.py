"""What control_plane.py runs: programs, servers, a fake kubelet, and the objects that they have to bring about."""
