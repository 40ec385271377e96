# SPDX-License-Identifier: BSD-3-Clause
"""The sentences of a program's errors, and whether a test has them."""
import re

# Words in a row that make a sentence out from others.
RUN = 3
SHORTEST = 10


def sentences(text):
    """The literals given to failure() in a C++ source, placeholders and all."""
    joined = re.sub(r'"\s*\n\s*"', "", text)
    return re.findall(r'\bfailure\(\s*"((?:[^"\\]|\\.)*)"', joined)


def runs(sentence):
    """Runs of words without a placeholder that the sentence can be known by."""
    for part in re.split(r"\{[^}]*\}", sentence):
        words = part.split()
        for first in range(len(words)):
            for length in (RUN, RUN - 1):
                run = " ".join(words[first:first + length]).strip("():;,' ")
                if len(run) >= SHORTEST and len(words[first:first + length]) == length:
                    yield run


def plain(tests):
    """Without what makes a regular expression of a sentence."""
    joined = re.sub(r'"\s*\n\s*"', "", tests)
    return re.sub(r"\\([().|\[\]$^*+?'\"])", r"\1", joined)


def untested(source, tests):
    """Sentences of a source that no test has. Those that only pass on another's are none."""
    return [sentence for sentence in sentences(source)
            if any(runs(sentence)) and not any(run in tests for run in runs(sentence))]
