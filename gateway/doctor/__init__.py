"""What `apiserver-gateway doctor` looks at: whether a server with these flags would be well, and what to do if not."""
