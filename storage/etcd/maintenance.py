"""etcd's Maintenance service: the status of a member."""

from __future__ import annotations

from operator import attrgetter

from storage.etcd.endpoints import Endpoints, Method
from storage.etcd.generated import rpc_pb2
from storage.etcd.results import MemberStatus

_STATUS: Method[rpc_pb2.StatusRequest, rpc_pb2.StatusResponse] = attrgetter("maintenance.Status")


class Maintenance:
    def __init__(self, endpoints: Endpoints) -> None:
        self._call = endpoints.call

    async def status(self, *, timeout: float | None = None) -> MemberStatus:
        """The state of the member in use. Raises what Endpoints.call raises."""
        answer = await self._call(_STATUS, rpc_pb2.StatusRequest(), timeout=timeout, repeatable=True)
        return MemberStatus(
            version=answer.version,
            revision=answer.header.revision,
            member_id=answer.header.member_id,
            leader=answer.leader,
            db_size=answer.dbSize,
            db_size_in_use=answer.dbSizeInUse,
            raft_term=answer.raftTerm,
            raft_index=answer.raftIndex,
            is_learner=answer.isLearner,
            errors=tuple(answer.errors),
            db_quota=answer.dbSizeQuota,
        )
