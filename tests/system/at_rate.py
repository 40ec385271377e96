#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""at_rate.py HZ SECONDS LINE...: prints the lines in turn, so many a second; what comes late is made
up for. A busy machine thus sees as many, if not as evenly."""
import sys
import time

hertz, seconds, lines = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
begin = time.monotonic()
for count in range(int(hertz * seconds)):
    pause = begin + count / hertz - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    print(lines[count % len(lines)], flush=True)
