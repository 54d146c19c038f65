# SPDX-License-Identifier: BSD-2-Clause
"""Packets of GDB's remote protocol: whole, damaged, shortened, escaped."""

import socket

from gdb_board import packet as framed
from worldwise.machine.gdbstub import GdbClient, escaped


def test_a_packet_is_read_as_it_was_meant() -> None:
    """If this fails, memory with four equal bytes, or one that looks like a packet's end, is read wrongly."""
    ours, theirs = socket.socketpair()
    with ours, theirs, GdbClient(ours, 5) as client:
        theirs.sendall(b"+%Stop:T05#12" + framed(b"0* }\x03x"))
        assert client.request("m0,4") == "0000#x"
        assert theirs.recv(100) == framed(b"m0,4") + b"+"


def test_a_damaged_packet_is_asked_for_again() -> None:
    """If this fails, a bit that a cable turned is measured, or ends the run."""
    ours, theirs = socket.socketpair()
    with ours, theirs, GdbClient(ours, 5) as client:
        theirs.sendall(b"+$4f#00" + framed(b"4b"))
        assert client.request("p0") == "4b"
        assert theirs.recv(100) == framed(b"p0") + b"-+"
        theirs.sendall(b"-" + framed(b"OK"))
        assert client.request("p1") == "OK"
        # What did not arrive is sent again.
        assert theirs.recv(100) == framed(b"p1") * 2 + b"+"


def test_binary_data_is_escaped() -> None:
    """If this fails, a program with such a byte in it is cut off in flash."""
    assert escaped(b"a#$}*b") == b"a}\x03}\x04}]}\x0ab"
