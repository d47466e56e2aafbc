"""Tests on a Docker engine: the image, docker-compose.yml, the chart's containers, and testcontainers.

`python -m tests.engine` starts an engine and runs these tests. `python -m tests.engine tools` makes what they need.
"""
