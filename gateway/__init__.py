"""The API server: requests, kinds, and all that lies between. `launch` starts it."""
