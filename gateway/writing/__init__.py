"""The stages of a write, each a module; verbs, subresources and controllers enter here alike."""
