"""Seeds: objects that a part of etcd begins with. They are stored only after their first change."""
