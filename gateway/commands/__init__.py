"""The commands of `apiserver-gateway`. Each module is imported when its command is called. The entry point is `cli`."""
