# SPDX-License-Identifier: BSD-2-Clause
"""The rules by which code is bounded that no published figure validates.

These are rules, not measurements: each has its reason, and docs/use/predict.md says which figures had been seen when it
was fixed. All were fixed before any predicted cycle was compared with one of them.
"""

from collections.abc import Mapping

# --- which code is inside the validated domain ---

# Held-out figures are of libraries in user programs of Linux, so user space is inside, of both worlds. OP-TEE's core
# runs the same kind of library, and helpers such as memcpy, at EL1: that is computation without system registers, and
# inside too. An instruction of which the core has no figures is outside wherever it stands.
# PROGRAM is all of a board's program, or of a flat one in Linux, and KERNEL all of the kernel below that; `explain`
# takes such a program apart, into the layers that follow it.
# A user's own firmware is two layers; the files of a user's own program are layers that begin with OWN.
PROGRAM = "program"
KERNEL = "Linux: kernel"
FIRMWARE = frozenset({"firmware", "interrupts"})
OWN = "program: "
INSIDE = frozenset(
    {
        PROGRAM,
        "library",
        "adapter",
        "compiler's helpers",
        "C library",
        "interrupts and start-up",
        "bench",
        "non-secure caller",
        "secure",
        "client: cryptography",
        "client",
        "libteec",
        "OpenSSL",
        "OpenSSL's provider pkcs11",
        "libckteec",
        "libc and the dynamic linker",
        "tee-supplicant",
        "other processes",
        "OP-TEE: helpers",
        "OP-TEE: cryptography",
        "ldelf",
        "TA runtime",
        "TA code",
    }
)
# What the other layers are, by how their names begin.
OUTSIDE: Mapping[str, str] = {
    "Linux: ": "Linux",
    "monitor": "monitor",
    "OP-TEE: ": "OP-TEE core",
    "gateway": "the gateway between security states",
}
# Layers that no rule takes, and code that has no name.
NAMELESS = "code without a name"

# A first call is outside as a whole, as all held-out figures are of warm ones; on a microcontroller, which has no
# caches (M7 has), it is not.
# A measure of fewer cycles is outside as a whole: what stands around a region (the pipeline that fills, the counter
# that is read) is then as large as the region. From the issue. On a microcontroller, whose pipeline is short, it is one
# that is shorter than the shortest figure of its line, if that is shorter still.
LEAST_CYCLES = 2_000
# A measure whose inside part waits for memory longer than this share of its time is outside as a whole: the models
# know a level-2 cache and one latency behind it, no prefetcher, no bus and no other user of the memory. A load that
# finds its data in the first cache is waited for too, for up to half of ordinary code's time: so it is not half.
MOST_MEMORY = 0.75
# A measure is of NEON integer code from this share of vector instructions on, else of integer code.
LEAST_VECTOR = 0.05
# A measure is of floating point from this share of such instructions on, whatever else it has: below it, even twice
# their cycles are within the errors of other code.
LEAST_FLOAT = 0.02
# An error line counts from so many held-out figures on; a domain that has fewer is joined with others.
LEAST_FIGURES = 5
# An interval leaves out at most this part of the figures at either end, as far as there are enough to leave one out.
# One more figure, drawn as they were, is then expected inside in 95 % or more; of fewer than 39 figures none is left
# out, and the part is smaller.
TAIL = 0.025
# What is said of the part that is inside at least holds with this confidence.
CONFIDENCE = 0.95
# A line names a bias if so many of the figures are off to one side, and by so much in the mean, in per cent.
ONE_SIDED = 0.8
ONE_SIDED_BIAS = 0.5

# --- how far apart its bounds are ---

# From below: nothing of it waits, as the model says, and the model is wrong by as much as for the held-out figure of
# the line that it predicted worst, to whichever side that was. A core without held-out figures takes at least so many
# times what is predicted.
UNVALIDATED_LEAST = 0.5
# From above: as many times what is predicted, or as a held-out figure of the core took if that is more. Of the code
# that the trial of issue 16 predicted worst, small calls with locks and barriers, the prediction was 56 % too low:
# 1 / (1 - 0.56) = 2.27.
OUTSIDE_FACTOR = 2.3

# And from above, cycles for each event that the models do not know. No source for the cores was found that says what
# these cost together with their caches, so they are generous.
# An exception and the return from it: each empties the pipeline. Ten times the 15 cycles that a mispredicted branch
# costs on the deepest of the cores.
LEVEL_CHANGE = 150
# A return of the monitor: half a world switch. It changes SCR_EL3 and the caches' view of the world, and firmware may
# forget all branches on the way in (TF-A's workaround for CVE-2017-5715 switches the MMU off and on).
WORLD_CHANGE = 1_000
# A barrier waits for all stores and loads before it: one access to memory behind the caches.
BARRIER = 150
# Maintenance of the TLB or of a cache, by address or as a whole: the broadcast, and a table walk of four levels
# afterwards that finds none of them in a cache.
MAINTENANCE = 600
# An exclusive access or an atomic instruction may have to wait for the line of the cache.
ATOMIC = 50


def is_inside(layer: str) -> bool:
    """Whether a layer is inside the validated domain."""
    return layer in INSIDE or layer in FIRMWARE or layer.startswith(OWN)
