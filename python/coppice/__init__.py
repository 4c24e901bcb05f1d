"""Coppice: a tree-based overlay network for tools, in C.

    with coppice.launch(shape="2x2", backend=["./first_be.py"]) as network:
        with network.open(up_filter="max") as stream:
            stream.send(coppice.TAG_FIRST, "%s", "what is your rank?")
            (highest,) = stream.receive(timeout=5)

Names are those of C without `cop_`; the man pages describe them. Options are
the fields of the structs, without `_argv`, `_ms` and `topology_`. All times are
in seconds; a time-out of None has no end.
"""

from ._errors import Ended, FilterError, NoMembers, StreamFailed
from ._names import (PACKET_MAX, RANK_NONE, TAG_FIRST, VALUES_MAX, Absentee, Event,
                     EventType, Guarantee, Missing, Recovery, Role, State,
                     StatusNode, Sync, join, launch)
from ._network import Events, Network, View
from ._packet import Packet
from ._stream import Stream, Total

__all__ = [
    "Absentee", "Ended", "Event", "EventType", "Events", "FilterError", "Guarantee",
    "Missing", "Network", "NoMembers", "PACKET_MAX", "Packet", "RANK_NONE",
    "Recovery", "Role", "State", "StatusNode", "Stream", "StreamFailed", "Sync",
    "TAG_FIRST", "Total", "VALUES_MAX", "View", "join", "launch",
]
