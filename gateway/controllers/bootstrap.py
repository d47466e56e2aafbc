"""bootstrap"""
from gateway.server import Gateway
BOOTSTRAP_HOOKS = ("start-system-namespaces-controller", "scheduling/bootstrap-system-priority-classes", "bootstrap-controller")
async def bootstrap(gateway: Gateway) -> None: ...
