"""Front-ends and back-ends in Python, in trees of real processes.

Started with the argument "back-end", this file is the back-end of its trees.
"""

import asyncio
import contextlib
import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import coppice
from coppice import EventType

ECHO, RAISE, DEAF, QUIT = range(coppice.TAG_FIRST, coppice.TAG_FIRST + 4)
FIRST = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "../../doc/examples/first.py")
PATIENCE = 60.0  # for what happens soon


def back_end():
    with coppice.join(session_path=os.environ.get("SESSION")) as network:
        for stream, packet in network:
            if packet.tag == ECHO:
                stream.send(ECHO, packet.format, *packet)
            elif packet.tag == RAISE:
                raise RuntimeError("asked for")
            elif packet.tag == DEAF:
                for event in network.events():
                    if event.type == EventType.STREAM_CLOSED:
                        break
            elif packet.tag == QUIT:
                break


def launch(shape="2x2", **options):
    return coppice.launch(shape=shape, backend=[sys.executable, os.path.abspath(__file__), "back-end"],
                          **options)


def wait_for(network, wanted):
    """The next event of a type."""
    while True:
        event = network.event(timeout=PATIENCE)
        if event.type == wanted:
            return event


def interrupt_the_call():
    """Press Ctrl-C once the main thread is in a call of the package."""
    package = os.path.dirname(coppice.__file__)
    main = threading.main_thread().ident
    while os.path.dirname(sys._current_frames()[main].f_code.co_filename) != package:
        time.sleep(0)
    os.kill(os.getpid(), signal.SIGINT)


class Trees(unittest.TestCase):
    def test_a_sum_comes_back(self):
        with launch() as network, network.open(up_filter="sum") as stream:
            self.assertEqual((network.rank, network.backends), (0, [3, 4, 5, 6]))
            self.assertEqual((stream.size, stream.id), (4, 1))
            stream.send(ECHO, "%d %alf", 5, [1.0, 2.0])
            packet = stream.receive(PATIENCE)
            number, values = packet
            self.assertEqual((number, values.tolist()), (20, [4.0, 8.0]))
            self.assertEqual((packet.contributors, packet.tag), (4, ECHO))
            self.assertTrue(stream.sync(PATIENCE))
            with self.assertRaises(TimeoutError):
                stream.receive(0)
            with self.assertRaises(TimeoutError):
                stream.receive(0.001)
            self.assertIs(network.stream(stream.id), stream)
            self.assertEqual(stream.guarantee, coppice.Guarantee.NONE)
            self.assertTrue(stream.guarantee_reason)
            with self.assertRaises(ValueError):
                stream.send(coppice.TAG_FIRST - 1)
            self.assertEqual(network.node(1).role, coppice.Role.COMMNODE)
            with self.assertRaises(FileNotFoundError):
                network.node(7)

    def test_a_view_has_a_number_and_ranks(self):
        with launch(views=True) as network:
            self.assertEqual(network.view(), (1, 1, [0, 1, 2, 3, 4, 5, 6]))
        with launch() as network, self.assertRaises(OSError):
            network.view()

    def test_a_commnode_is_told_to_move(self):
        with launch() as network:
            for rank, parent in ((0, 1), (3, 1), (1, 9), (1, 0)):
                with self.assertRaises(OSError):
                    network.move(rank, parent)
            network.move(1, 2)
            event = wait_for(network, EventType.MOVE_FAILED)
            self.assertEqual((event.rank, event.parent), (1, 2))
            self.assertIn("the tree would be higher", event.text)

    def test_some_back_ends_and_a_total(self):
        with launch() as network:
            total = network.open([3, 5], up_filter="sum", guarantee="total",
                                 sync=coppice.Sync.DO_NOT_WAIT)
            self.assertEqual((total.size, total.guarantee.name), (2, "TOTAL"))
            for _ in range(10):
                total.send(ECHO, "%uld", 3)
            self.assertTrue(total.sync(PATIENCE))
            packet, exact = total.state(PATIENCE)
            self.assertEqual((packet[0], exact), (60, True))
            with self.assertRaises(OSError):
                network.open([1])

    def test_a_packet_goes_to_some(self):
        with launch() as network:
            stream = network.open(sync="do_not_wait")
            stream.send_to(iter([5, 3, 5]), coppice.Packet(ECHO, "%s", "some"))
            self.assertTrue(stream.sync(PATIENCE))
            answers = [stream.receive(0), stream.receive(0)]
            self.assertEqual(sorted(answer.origin for answer in answers), [3, 5])
            with self.assertRaises(TimeoutError):
                stream.receive(0)
            for none in ([], [1], [7]):
                with self.assertRaises(OSError):
                    stream.send_to(none, coppice.Packet(ECHO))
            with self.assertRaises(OverflowError):
                stream.send_to([-1], coppice.Packet(ECHO))

    def test_errors_are_classes(self):
        with launch() as network:
            with self.assertRaises(coppice.FilterError) as caught:
                network.open(up_filter="no_such_filter")
            self.assertEqual(caught.exception.errno, errno.ELIBBAD)
            self.assertIn("no_such_filter", caught.exception.strerror)
            with self.assertRaises(OSError) as caught:
                network.open(guarantee="waves", sync="time_out", wave_timeout=0.1)
            self.assertEqual(caught.exception.errno, errno.EINVAL)
            stream = network.open([3])
            stream.send(QUIT)
            event = wait_for(network, EventType.BACKEND_LOST)
            self.assertEqual(event.rank, 3)
            self.assertIn("has left", event.text)
            with self.assertRaises(coppice.NoMembers):
                stream.receive(PATIENCE)
            network.shutdown()
            with self.assertRaises(coppice.Ended):
                stream.receive()
            self.assertTrue(wait_for(network, EventType.ENDED).text)
        for call in (network.event, network.receive, stream.receive, stream.sync,
                     network.open, lambda: stream.send(ECHO), lambda: stream.size,
                     lambda: network.rank, network.fileno):
            with self.assertRaises(coppice.Ended):
                call()
        network.close()
        stream.close()

    def test_an_exception_ends_a_back_end_and_the_event_says_so(self):
        with launch("2") as network:
            network.open([1]).send(RAISE)
            event = wait_for(network, EventType.BACKEND_LOST)
            self.assertEqual(event.rank, 1)
            self.assertIn("exited with status 1", event.text)

    def test_sends_without_credit_time_out(self):
        with launch("1") as network, network.open() as stream:
            stream.send(DEAF)
            stream.send_timeout = 0.01
            with self.assertRaises(TimeoutError):
                while True:
                    stream.send(ECHO, "%auc", bytes(1 << 20))
            stream.send_timeout = 0
            with self.assertRaises(TimeoutError):
                stream.send(ECHO, "%auc", bytes(1 << 20))

    def test_back_ends_attach_by_a_session_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "session")
            with coppice.launch(shape="1", session_path=path) as network:
                stream = network.open(grow=True, sync="do_not_wait")
                with self.assertRaises(coppice.NoMembers):
                    stream.send(ECHO, "%s", "nobody")
                os.environ["SESSION"] = path
                child = os.spawnl(os.P_NOWAIT, sys.executable, sys.executable,
                                  os.path.abspath(__file__), "back-end")
                del os.environ["SESSION"]
                wait_for(network, EventType.BACKEND_JOINED)
                stream.send(ECHO, "%s", "hello")
                self.assertEqual(stream.receive(PATIENCE)[0], "hello")
            self.assertEqual(os.waitpid(child, 0)[1], 0)


class Example(unittest.TestCase):
    def test_the_first_tool(self):
        printed = subprocess.check_output([sys.executable, FIRST], text=True)
        self.assertEqual(printed,
                         "4 back-ends answered; the highest rank is 6\n")


class Ends(unittest.TestCase):
    def test_ctrl_c_ends_each_wait(self):
        with launch("1") as network, network.open() as stream:
            stream.send(DEAF)
            for call in (network.event, network.receive, stream.receive, stream.sync):
                while True:  # events that are there already
                    try:
                        network.event(0)
                    except TimeoutError:
                        break
                thread = threading.Thread(target=interrupt_the_call)
                thread.start()
                with self.assertRaises(KeyboardInterrupt):
                    call()
                thread.join()

    def test_closing_ends_the_waits_of_other_threads(self):
        for end in "stream", "network":
            with launch("1") as network, network.open() as stream:
                caught = []

                def wait():
                    try:
                        stream.receive()
                    except coppice.Ended as error:
                        caught.append(error)

                threads = [threading.Thread(target=wait) for _ in range(3)]
                for thread in threads:
                    thread.start()
                {"stream": stream, "network": network}[end].close()
                for thread in threads:
                    thread.join()
                self.assertEqual(len(caught), 3)

    def test_a_forked_child_does_not_touch_the_network(self):
        with launch("2") as network, network.open(up_filter="sum") as stream:
            pid = os.fork()
            if pid == 0:
                refused = 0
                for call in (network.event, stream.receive, network.open, stream.sync,
                             lambda: stream.send(ECHO, "%d", 1)):
                    try:
                        call()
                    except PermissionError:
                        refused += 1
                network.close()
                os._exit(refused)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5)
            stream.send(ECHO, "%d", 1)
            self.assertEqual(stream.receive(PATIENCE)[0], 2)

    def test_the_collector_may_come_in_any_order(self):
        for names in ("network stream packet view", "view packet stream network"):
            seen = []

            class Cycle:
                def __del__(self):
                    seen.append(self.view.tolist() == self.packet[0].tolist() == [7] * 99)
                    for call in (self.stream.receive, self.network.event):
                        try:
                            call(0)
                        except (coppice.Ended, TimeoutError):
                            seen.append(True)

            network = launch("1")
            stream = network.open()
            stream.send(ECHO, "%ad", [7] * 99)
            packet = stream.receive(PATIENCE)
            parts = {"network": network, "stream": stream, "packet": packet,
                     "view": packet[0]}
            cycle = Cycle()
            for name in names.split():
                setattr(cycle, name, parts[name])
            cycle.cycle = cycle
            del network, stream, packet, parts, cycle
            gc.collect()
            self.assertEqual(seen, [True] * 3)


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def test_packets_and_events(self):
        async with launch() as network:
            stream = await network.aopen(up_filter="sum")
            async with stream:
                for number in range(100):
                    await stream.asend(ECHO, "%d", number)
                count = 0
                async for packet in stream:
                    self.assertEqual(packet[0], 4 * count)
                    count += 1
                    if count == 100:
                        break
                self.assertTrue(await stream.async_(PATIENCE))
                with self.assertRaises(TimeoutError):
                    await stream.areceive(0.01)
            one = await network.aopen([3])
            await one.asend(QUIT)
            async for event in network.events():
                if event.type == EventType.BACKEND_LOST:
                    break
            self.assertEqual(event.rank, 3)

    async def test_tasks_wait_side_by_side(self):
        async with launch() as network:
            streams = [await network.aopen([rank]) for rank in network.backends * 2]
            waits = [asyncio.create_task(s.areceive()) for s in streams for _ in "ab"]
            any_event = asyncio.create_task(network.aevent())
            for stream in reversed(streams):
                await stream.asend(ECHO, "%d", stream.id)
                await stream.asend(ECHO, "%d", stream.id)
            packets = await asyncio.gather(*waits)
            self.assertEqual([p[0] for p in packets],
                             [s.id for s in streams for _ in "ab"])
            await network.ashutdown()
            self.assertIs((await any_event).type, EventType.ENDED)

    async def test_a_network_without_chosen_stream(self):
        async with launch("2") as network:
            streams = {await network.aopen([rank]) for rank in network.backends}
            for stream in streams:
                await stream.asend(ECHO, "%d", 1)
            async for stream, packet in network:
                self.assertEqual(packet[0], 1)
                streams.remove(stream)
                if not streams:
                    break

    async def test_no_packet_is_taken_before_it_is_asked_for(self):
        async with launch("1") as network:
            streams = [await network.aopen() for _ in "ab"]
            for stream in streams:
                await stream.asend(ECHO, "%d", stream.id)
            await streams[0].areceive(PATIENCE)
            with self.assertRaises(TimeoutError):
                await streams[0].areceive(0.01)
            self.assertEqual(streams[1].receive(PATIENCE)[0], streams[1].id)

    async def test_a_send_waits_for_credit_while_the_loop_goes_on(self):
        async with launch("1") as network, await network.aopen() as stream:
            await stream.asend(DEAF)
            stream.send_timeout = 0.01
            with self.assertRaises(TimeoutError):
                while True:
                    await stream.asend(ECHO, "%auc", bytes(1 << 20))

    async def test_a_closed_stream_ends_its_tasks(self):
        for end in "stream", "network":
            async with launch("1") as network:
                stream = await network.aopen()
                task = asyncio.create_task(stream.areceive())
                await asyncio.sleep(0)  # the task waits
                if end == "stream":
                    stream.close()
                else:
                    network.close()
                with self.assertRaises(coppice.Ended):
                    await task


if __name__ == "__main__":
    if sys.argv[1:] == ["back-end"]:
        with contextlib.suppress(coppice.Ended):  # while it answered
            back_end()
    else:
        unittest.main()
