# Made by hack/proto.py. sources: 329e9ba330799f11 text: 0a7772579aa7113f
"""Messages and service stubs of etcd's v3 API, generated from proto/etcd."""

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
