#!/usr/bin/env python3
"""Tests the Python peers: the protocol they share, and that each rival computes attention.

    test_peers.py protocol               needs the standard library alone
    test_peers.py cuda                   torch on a CUDA device, with fake_torch in its place
    test_peers.py torch | onnxruntime    exits with 77 and the reason if it cannot be imported

Rivals are compared with a float64 computation in numpy. Their times are not tested.
"""

import sys
import tempfile

import device
import protocol
import rivals


def main():
    which = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        if which == "protocol":
            protocol.test_protocol(folder)
            protocol.test_absent(folder)
            return 0
        try:
            return device.test_cuda(folder) if which == "cuda" else rivals.test_rival(which, folder)
        except ImportError as error:
            print(f"SKIPPED: {error}")
            return rivals.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
