# Made by hack/proto.py. sources: 329e9ba330799f11 text: 92d9fe50eac78b25
"""The services' methods as multi-callables of one channel."""

from __future__ import annotations

import grpc.aio

from . import rpc_pb2


class KVStub:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.Range: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.RangeRequest, rpc_pb2.RangeResponse] = (
            channel.unary_unary(
                "/etcdserverpb.KV/Range",
                request_serializer=rpc_pb2.RangeRequest.SerializeToString,
                response_deserializer=rpc_pb2.RangeResponse.FromString,
            )
        )
        self.RangeStream: grpc.aio.UnaryStreamMultiCallable[rpc_pb2.RangeRequest, rpc_pb2.RangeStreamResponse] = (
            channel.unary_stream(
                "/etcdserverpb.KV/RangeStream",
                request_serializer=rpc_pb2.RangeRequest.SerializeToString,
                response_deserializer=rpc_pb2.RangeStreamResponse.FromString,
            )
        )
        self.Put: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.PutRequest, rpc_pb2.PutResponse] = (
            channel.unary_unary(
                "/etcdserverpb.KV/Put",
                request_serializer=rpc_pb2.PutRequest.SerializeToString,
                response_deserializer=rpc_pb2.PutResponse.FromString,
            )
        )
        self.DeleteRange: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.DeleteRangeRequest, rpc_pb2.DeleteRangeResponse] = (
            channel.unary_unary(
                "/etcdserverpb.KV/DeleteRange",
                request_serializer=rpc_pb2.DeleteRangeRequest.SerializeToString,
                response_deserializer=rpc_pb2.DeleteRangeResponse.FromString,
            )
        )
        self.Txn: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.TxnRequest, rpc_pb2.TxnResponse] = (
            channel.unary_unary(
                "/etcdserverpb.KV/Txn",
                request_serializer=rpc_pb2.TxnRequest.SerializeToString,
                response_deserializer=rpc_pb2.TxnResponse.FromString,
            )
        )
        self.Compact: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.CompactionRequest, rpc_pb2.CompactionResponse] = (
            channel.unary_unary(
                "/etcdserverpb.KV/Compact",
                request_serializer=rpc_pb2.CompactionRequest.SerializeToString,
                response_deserializer=rpc_pb2.CompactionResponse.FromString,
            )
        )


class WatchStub:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.Watch: grpc.aio.StreamStreamMultiCallable[rpc_pb2.WatchRequest, rpc_pb2.WatchResponse] = (
            channel.stream_stream(
                "/etcdserverpb.Watch/Watch",
                request_serializer=rpc_pb2.WatchRequest.SerializeToString,
                response_deserializer=rpc_pb2.WatchResponse.FromString,
            )
        )


class LeaseStub:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.LeaseGrant: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.LeaseGrantRequest, rpc_pb2.LeaseGrantResponse] = (
            channel.unary_unary(
                "/etcdserverpb.Lease/LeaseGrant",
                request_serializer=rpc_pb2.LeaseGrantRequest.SerializeToString,
                response_deserializer=rpc_pb2.LeaseGrantResponse.FromString,
            )
        )
        self.LeaseRevoke: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.LeaseRevokeRequest, rpc_pb2.LeaseRevokeResponse] = (
            channel.unary_unary(
                "/etcdserverpb.Lease/LeaseRevoke",
                request_serializer=rpc_pb2.LeaseRevokeRequest.SerializeToString,
                response_deserializer=rpc_pb2.LeaseRevokeResponse.FromString,
            )
        )
        self.LeaseKeepAlive: grpc.aio.StreamStreamMultiCallable[rpc_pb2.LeaseKeepAliveRequest, rpc_pb2.LeaseKeepAliveResponse] = (
            channel.stream_stream(
                "/etcdserverpb.Lease/LeaseKeepAlive",
                request_serializer=rpc_pb2.LeaseKeepAliveRequest.SerializeToString,
                response_deserializer=rpc_pb2.LeaseKeepAliveResponse.FromString,
            )
        )
        self.LeaseTimeToLive: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.LeaseTimeToLiveRequest, rpc_pb2.LeaseTimeToLiveResponse] = (
            channel.unary_unary(
                "/etcdserverpb.Lease/LeaseTimeToLive",
                request_serializer=rpc_pb2.LeaseTimeToLiveRequest.SerializeToString,
                response_deserializer=rpc_pb2.LeaseTimeToLiveResponse.FromString,
            )
        )


class MaintenanceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.Status: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.StatusRequest, rpc_pb2.StatusResponse] = (
            channel.unary_unary(
                "/etcdserverpb.Maintenance/Status",
                request_serializer=rpc_pb2.StatusRequest.SerializeToString,
                response_deserializer=rpc_pb2.StatusResponse.FromString,
            )
        )


class AuthStub:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.Authenticate: grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.AuthenticateRequest, rpc_pb2.AuthenticateResponse] = (
            channel.unary_unary(
                "/etcdserverpb.Auth/Authenticate",
                request_serializer=rpc_pb2.AuthenticateRequest.SerializeToString,
                response_deserializer=rpc_pb2.AuthenticateResponse.FromString,
            )
        )
