"""Objects that a part of etcd begins with, and that are not stored as long as nobody has changed them."""
