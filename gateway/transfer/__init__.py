"""The commands `export` and `import`: objects of a Kubernetes API to files and back."""
