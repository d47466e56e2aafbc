"""The commands of `apiserver-gateway`, each in a module that is imported when it is called."""
