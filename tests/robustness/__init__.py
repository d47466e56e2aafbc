"""What etcd does to its clients when it is restored, hangs or is cut off; on an etcd of today."""
