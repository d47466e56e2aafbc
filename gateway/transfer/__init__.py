"""Objects from a Kubernetes API into files, and from files into one: `export` and `import`."""
