# SPDX-License-Identifier: BSD-3-Clause
"""The search of RFC 2544 for the highest rate without loss, apart from any traffic generator."""

SIZES = (64, 128, 256, 512, 1024, 1280, 1518)


def search(trial, most, resolution):
    """trial(rate) offers that rate for a while: how many frames were sent and how many arrived.

    Returns the highest rate without loss that was tried (0: none) and the number of trials. It is
    known to `resolution`, a share of `most`."""
    low, high, trials, rate = 0.0, most, 0, most
    while True:
        sent, received = trial(rate)
        trials += 1
        if sent > 0 and received >= sent:
            low = rate
        else:
            high = rate
        if low >= most or high - low <= resolution * most:
            return low, trials
        rate = (low + high) / 2
