"""Decisions of the authorizer that CEL expressions need while one write is admitted.

An evaluation cannot wait, but the authorizer may have to (a webhook). So an evaluation that needs a decision raises
`Undecided`; its caller gets the decision and evaluates again.
"""

from __future__ import annotations

from gateway.access.authorization import Authorizer, asked_of_resource
from gateway.access.service_accounts import account_groups, account_name
from gateway.cel.libraries.authorizer import AuthorizerDecision, Question, ServiceAccount
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.kinds.attributes import Attributes


class Undecided(Exception):
    """An evaluation needs a decision that is not known yet."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Decisions:
    """The decisions for one write. The authorizer gets each question once."""

    __slots__ = ("_authorizer", "_known")

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._known = dict[Question, AuthorizerDecision]()

    def decide(self, question: Question) -> AuthorizerDecision:
        """The decision that `find` has got. Raises Undecided if it has not got one."""
        if (known := self._known.get(question)) is None:
            raise Undecided(question)
        return known

    async def find(self, question: Question) -> None:
        """Asks the authorizer; `decide` knows the decision from now on."""
        verdict = await self._authorizer.authorize(_attributes(question))
        self._known[question] = AuthorizerDecision(verdict.allowed, verdict.reason, verdict.error)


def _attributes(question: Question) -> Attributes:
    user: User | ServiceAccount = question.user
    if isinstance(user, ServiceAccount):
        user = User(account_name(user.namespace, user.name), account_groups(user.namespace))
    if question.path is not None:
        return Attributes(user, RequestInfo(question.verb, question.path))
    return asked_of_resource(
        user,
        question.verb,
        question.group,
        question.resource,
        question.name,
        namespace=question.namespace,
        subresource=question.subresource,
        field_selector=question.field_selector,
        label_selector=question.label_selector,
    )
