"""gateway.verbs"""
