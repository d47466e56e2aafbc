"""The commands of `apiserver-gateway`, each in a module that is imported when the command is called. Enter by `cli`."""
