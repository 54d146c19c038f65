# SPDX-License-Identifier: BSD-2-Clause
"""The secure key cache: one request, a load, many clients, and power cuts."""

from collections.abc import Mapping

from worldwise.base.units import parse_size, size_text
from worldwise.plan.parameters import POINTS, SIZE, TICKS, action, out_of_range
from worldwise.plan.spec import OPTEE, App, Measures, Operation, Parameter, Problem, Spec, no_problem

# The campaigns.
KEYCACHE_HOLD = "keycache-hold"
KEYCACHE_CUT = "keycache-cut"
# Messages through a broker.
KEYCACHE_MQTT = "keycache-mqtt"
# The possible sizes of a key in bytes, and the longest plaintext: KEYCACHE_MOST in keycache/client/keycache.h.
KEYCACHE_KEYS = (16, 32)
MAX_KEYCACHE = 64 * 1024
# The policies decide which keys the TA keeps; naive keeps none, and reads secure storage for every use.
KEYCACHE_POLICIES = ("none", "lru", "smart", "naive")
# A request, and the place of its keys: in the TA (hit), in a record sent along (miss), in secure storage (cold).
KEYCACHE_ACTIONS = (
    "get-hit",
    "get-miss",
    "get-cold",
    "seal-hit",
    "seal-miss",
    "open-hit",
    "open-miss",
    "reencrypt-hit",
    "reencrypt-miss",
    "set-known",
    "set-new",
)
# Why a policy never has a cold key: one whose record the server lost and which the TA does not hold.
_NO_COLD = {"lru": "the TA keeps it while servers come and go", "naive": "there are no records to be lost"}

# redis-benchmark's requests, and its numbers of connections.
LOAD_ACTIONS = ("ping", "seal", "reencrypt")
MAX_CONNECTIONS = 1000
# The sizes of one request. A longer request takes several TLS records. redis-benchmark has Nagle's algorithm on, so it
# sends the last record only when the first is acknowledged; Linux delays that by 40 ms, with the processor idle.
MAX_LOAD = 8 * 1024
# Streams of requests, those of keycache/tests/policies/workload.c, by so many clients; percent of the keys that the TA
# keeps.
WORKLOADS = (
    "zipf-0.8",
    "zipf-0.99",
    "zipf-1.2",
    "zipf-0.8-scans",
    "zipf-0.99-scans",
    "zipf-1.2-scans",
    "zipf-0.99-drift",
)
KEYCACHE_BOUNDS = ("1", "5", "10", "25")
MAX_CLIENTS = 100_000
MAX_REQUESTS = 1_000_000

# Who re-encrypts a message for its receivers: nobody (no plugin), the TA's code in the server's own process, or the TA,
# with the keys in it, in records that come along, or in secure storage and a session for each receiver.
RELAYS = ("off", "ree", "hit", "miss", "naive")
# MOST_SUBSCRIBERS in guest/apps/keycache/mqtt/mqtt.c.
MAX_SUBSCRIBERS = 64

_RELAY = Parameter("relay", "relays", RELAYS, missing="who re-encrypts, such as relay=hit")
_SUBSCRIBERS = Parameter(
    "subscribers", "subscribers", most=MAX_SUBSCRIBERS, missing="a number of subscribers: subscribers=8"
)
_QOS = Parameter("qos", "qos", ("0", "1", "2"), "0")
_STORAGE = Parameter("storage", "storages", ("ree", "rpmb"), missing="a storage, such as storage=ree")
_POLICY = Parameter("policy", "policies", KEYCACHE_POLICIES, missing="a policy, such as policy=smart")
_DURABILITY = Parameter("durability", "durabilities", ("full", "relaxed"), "full")
# VERSIONS: most keys are set with KEEP, and another client relays what the keys before sealed.
KEYS, VERSIONS = "keys", "versions"
_STREAM = Parameter("stream", "streams", (KEYS, VERSIONS), KEYS)
_CONNECTIONS = Parameter(
    "connections", "connections", most=MAX_CONNECTIONS, missing="a number of connections: connections=8"
)
_CLIENTS = Parameter("clients", "clients", most=MAX_CLIENTS, default="1")
_REQUESTS = Parameter("requests", "requests", most=MAX_REQUESTS, missing="a number of requests: requests=1000")
_BOUND = Parameter("bound", "bounds", KEYCACHE_BOUNDS, missing="how many percent of the keys the TA keeps: bound=10")
_WORKLOAD = Parameter("workload", "workloads", WORKLOADS, missing="a workload: workload=zipf-0.99")


def _request_problem(_target: str, given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of one request; empty if nothing is."""
    verb, _, state = given["action"].partition("-")
    if state == "hit" and given["policy"] not in ("lru", "smart"):
        return f"policy={given['policy']} keeps no key, so that nothing is a hit."
    if state == "cold" and given["policy"] not in ("none", "smart"):
        return f"policy={given['policy']} has no cold key: {_NO_COLD[given['policy']]}."
    if verb in ("get", "set") and parse_size(given["size"]) not in KEYCACHE_KEYS:
        allowed = " and ".join(map(size_text, KEYCACHE_KEYS))
        return f"size {given['size']} is not a key's size, and '{given['action']}' takes a key. Allowed: {allowed}."
    return out_of_range(given["size"], 1, MAX_KEYCACHE)


def _load_problem(_target: str, given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of a load; empty if nothing is."""
    if problem := out_of_range(given["size"], 1, MAX_LOAD):
        return problem
    if int(given["requests"]) < int(given["connections"]):
        return f"requests={given['requests']} is not even one for each of connections={given['connections']}."
    if given["action"] == "ping" and "clients" in given:
        return "action=ping uses no key: it takes no clients."
    return ""


def _zipf_problem(_target: str, given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of a workload of many clients; empty if nothing is."""
    clients = int(given.get("clients", "1"))
    if given["policy"] == "naive":
        return "policy=naive has no cache, so there is no hit rate."
    if clients * int(given["bound"]) < 100:
        return f"clients={clients} with bound={given['bound']} is a cache without a key: give it more clients."
    return ""


def _mqtt_problem(_target: str, given: Mapping[str, str]) -> str:
    """What is wrong with the parameters of messages through a broker; empty if nothing is."""
    return out_of_range(given["size"], 1, MAX_KEYCACHE)


# The guest does not survive a Linux load beside these operations, so none of them takes one.
def _operation(
    name: str,
    measures: Measures,
    parameters: tuple[Parameter, ...],
    problem: Problem = no_problem,
) -> Operation:
    return Operation(name, {OPTEE: measures}, {OPTEE: parameters}, problem, app="keycache")


SPEC = Spec(
    operations=(
        _operation(
            "keycache",
            {"request": ("storage", "ta", "invoke", "client")},
            (SIZE, TICKS, _STORAGE, _POLICY, action(*KEYCACHE_ACTIONS)),
            _request_problem,
        ),
        _operation(
            "keycache-load",
            {"short": ("client",), "long": ("client",)},
            (SIZE, TICKS, _STORAGE, _POLICY, action(*LOAD_ACTIONS), _CONNECTIONS, _CLIENTS, _REQUESTS),
            _load_problem,
        ),
        _operation(
            "keycache-zipf",
            {"requests": ("client",)},
            (TICKS, _STORAGE, _POLICY, _CLIENTS, _REQUESTS, _BOUND, _WORKLOAD),
            _zipf_problem,
        ),
        _operation(
            KEYCACHE_MQTT,
            {"message": ("storage", "ta", "invoke", "relay", "client"), "burst": ("client",)},
            (SIZE, TICKS, _RELAY, _SUBSCRIBERS, _QOS),
            _mqtt_problem,
        ),
        _operation(KEYCACHE_HOLD, {}, (TICKS, _STORAGE)),
        _operation(KEYCACHE_CUT, {}, (TICKS, _STORAGE, POINTS, _DURABILITY, _STREAM)),
    ),
    # This UUID differs from those of the other TAs: keycache/ stands on its own.
    apps={"keycache": App("7d2f9f7c-5b0e-4b1c-9a3e-6b6579636163", elsewhere="keycache/tests/ta")},
    published=("mqttz-keys",),
)
