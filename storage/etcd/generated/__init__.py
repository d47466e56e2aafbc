# Made by hack/proto.py. sources: cb5292ce7b1ea4e2 text: 0a7772579aa7113f
"""Messages and service stubs of etcd's v3 API, generated from proto/etcd."""

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
