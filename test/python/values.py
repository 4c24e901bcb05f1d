"""Packets: what they hold is what was given, and nothing is converted."""

import array
import ctypes
import gc
import struct
import unittest

import coppice


def packet(form, *values):
    return coppice.Packet(coppice.TAG_FIRST, form, *values)


class Values(unittest.TestCase):
    def test_each_scalar_comes_back(self):
        for item, bits in (("c", 7), ("hd", 15), ("d", 31), ("ld", 63)):
            for value in (-(2**bits), 0, 2**bits - 1):
                self.assertEqual(packet("%" + item, value)[0], value)
            for value in (-1, 2 ** (bits + 1)):
                with self.assertRaises(OverflowError):
                    packet("%u" + item, value)
            self.assertEqual(packet("%u" + item, 2 ** (bits + 1) - 1)[0],
                             2 ** (bits + 1) - 1)
        self.assertEqual(packet("%f %lf %lf", 0.5, 0.1, 3).__len__(), 3)
        self.assertEqual(list(packet("%f %lf %lf", 0.5, 0.1, 3)), [0.5, 0.1, 3.0])

    def test_strings_are_utf8_and_other_bytes_survive(self):
        words = ["", "Überfluss", b"\xff\xfe".decode("utf-8", "surrogateescape")]
        self.assertEqual(list(packet("%s %s %s", *words)), words)
        self.assertEqual(packet("%as", words)[0], tuple(words))
        self.assertEqual(packet("%as", [])[0], ())
        self.assertEqual(packet("%s", b"raw")[0], "raw")
        for value in ("a\0b", b"\0"):
            with self.assertRaises(ValueError):
                packet("%s", value)
        for form, value in (("%s", 1), ("%s", None), ("%as", "one"), ("%as", [1])):
            with self.assertRaises(TypeError):
                packet(form, value)

    def test_arrays_come_back_as_views(self):
        codes = {"c": "b", "uc": "B", "hd": "h", "uhd": "H", "d": "i", "ud": "I",
                 "ld": "q", "uld": "Q", "f": "f", "lf": "d"}
        for item, code in codes.items():
            for shape in "aA":
                for given in ([], [1, 2, 3], array.array(code, [1, 2, 3]), range(3)):
                    view = packet(f"%{shape}{item}", given)[0]
                    self.assertEqual(view.tolist(), list(given))
                    self.assertEqual((view.format, view.readonly), (code, True))
        self.assertEqual(packet("%ald", array.array("l", [5]))[0].tolist(), [5])
        self.assertEqual(packet("%alf", (ctypes.c_double * 2)(1, 2))[0].tolist(), [1, 2])
        self.assertEqual(bytes(packet("%auc", b"bytes")[0]), b"bytes")
        with self.assertRaises(TypeError):
            packet("%ad", [1])[0][0] = 2

    def test_a_view_keeps_its_packet(self):
        views = [packet("%ad", [i] * 1000)[0][::2] for i in range(100)]
        gc.collect()
        for i, view in enumerate(views):
            self.assertEqual(view.tolist(), [i] * 500)

    def test_finalizers_of_a_garbage_cycle_see_packets_and_views(self):
        seen = []

        class Cycle:
            def __init__(self):
                self.self = self
                self.packet = packet("%d %ad", 7, [7] * 1000)
                self.view = self.packet[1]

            def __del__(self):
                seen.append((self.packet[0], set(self.view), set(self.packet[1])))

        for _ in range(100):
            Cycle()
        gc.collect()
        self.assertEqual(seen, [(7, {7}, {7})] * 100)

    def test_numpy_makes_no_copy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no numpy")
        view = packet("%alf", numpy.arange(6.0).reshape(2, 3))[0]
        whole = numpy.asarray(view)
        self.assertEqual(whole.dtype, numpy.float64)
        self.assertTrue(numpy.shares_memory(whole, numpy.frombuffer(view)))
        self.assertEqual(packet("%d", numpy.int16(5))[0], 5)
        self.assertEqual(packet("%lf", numpy.float32(0.5))[0], 0.5)
        for wrong in (numpy.zeros(3, "f"), numpy.zeros(3, "i8"), numpy.zeros(3, ">f8"),
                      numpy.zeros(3, "c16"), numpy.zeros(3, "?")):
            with self.assertRaises(TypeError):
                packet("%alf", wrong)
        for strided in (numpy.zeros(6)[::2], numpy.zeros((2, 3)).T):
            with self.assertRaises(ValueError):
                packet("%alf", strided)
        with self.assertRaises(TypeError):
            packet("%ad", numpy.zeros(3, "u4"))

    def test_wrong_values_are_refused(self):
        for form, value in (("%d", 1.0), ("%d", "1"), ("%d", None), ("%d", [1]),
                            ("%lf", "1"), ("%lf", None), ("%f", 1j), ("%ad", 1),
                            ("%ad", [1.0]), ("%alf", ["1"]), ("%ad", "12"),
                            ("%ac", b"signed"), ("%ad", struct), ("%ad", {1: 2})):
            with self.assertRaises(TypeError, msg=(form, value)):
                packet(form, value)
        for form, value in (("%d", 2**31), ("%d", -(2**63) - 1), ("%uld", 2**64),
                            ("%ad", [0, 2**31]), ("%auc", [-1]), ("%f", 1e300),
                            ("%af", [1.0, 1e300]), ("%lf", 10**400)):
            with self.assertRaises(OverflowError, msg=(form, value)):
                packet(form, value)
        for form, value in (("%lf", 2**53 + 1), ("%alf", [2**53 + 1])):
            with self.assertRaises(ValueError, msg=(form, value)):
                packet(form, value)

    def test_formats_and_counts_are_checked(self):
        for form in ("%", "d", "%x", "%us", "%uf", "%aad", "%d%d", "%d,"):
            with self.assertRaises(ValueError, msg=form):
                packet(form, 1)
        for form, values in (("", [1]), ("%d", []), ("%d", [1, 2]), ("%d %d", [1])):
            with self.assertRaises(TypeError, msg=form):
                packet(form, *values)
        with self.assertRaises(OSError):
            packet("%d " * (coppice.VALUES_MAX + 1), *range(coppice.VALUES_MAX + 1))

    def test_a_packet_is_a_sequence(self):
        both = packet("%d  %s", 1, "two")
        first, second = both
        self.assertEqual((first, second, len(both), both.format), (1, "two", 2, "%d %s"))
        self.assertEqual((both[-1], both[0], both.tag), ("two", 1, coppice.TAG_FIRST))
        for index in (2, -3):
            with self.assertRaises(IndexError):
                both[index]
        self.assertEqual(len(packet("")), 0)

    def test_errors_name_the_cause(self):
        with self.assertRaises(OSError) as caught:
            coppice.launch(shape="2x")
        self.assertIn("2x", caught.exception.strerror)
        with self.assertRaises(FileNotFoundError):
            coppice.join(session_path="/nowhere/session")
        for options in ({"backend": "true"}, {"shap": "1"}, {"hosts": 5}):
            with self.assertRaises(TypeError):
                coppice.launch(**{"shape": "2", **options})
        for options in ({"missing": "skipp"}, {"heartbeat": -1}, {"hosts": "a\0"},
                        {"heartbeat": float("nan")}):
            with self.assertRaises(ValueError):
                coppice.launch(**{"shape": "2", **options})


if __name__ == "__main__":
    unittest.main()
