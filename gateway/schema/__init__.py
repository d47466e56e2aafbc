"""The types of kinds (`catalog`, `types`), and JSON and protobuf read and written by them."""
