# SPDX-License-Identifier: BSD-2-Clause
"""TAs that call other TAs: each call is a row, by whom it is for and by its command."""

from pathlib import Path

import own_codes
from machines import note
from own_explained import explained
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.machine.emulator import Emulator
from worldwise.plan.spec import REGION_MEASURE, REGION_PLACE
from worldwise.run.code.application import application
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import prepare
from worldwise.run.code.region_counts import calls_of

OTHER = "5b9e0e41-2636-11e1-ad9e-0002a5d5c51b"
OTHER_HEADER = own_codes.APPLICATION["ta/own.h"].replace("0x5b9e0e40", "0x5b9e0e41")
# It asks the other TA for its commands 2 and 5, and OP-TEE's own TA `system` for a random number's seed.
CALLS = (
    """
#include <tee_internal_api.h>
#define OTHER { 0x5b9e0e41, 0x2636, 0x11e1, { 0xad, 0x9e, 0x00, 0x02, 0xa5, 0xd5, 0xc5, 0x1b } }
#define SYSTEM { 0x3a2f8978, 0x5dc0, 0x11e8, { 0x9c, 0x2d, 0xfa, 0x7a, 0xe0, 0x1b, 0xbe, 0xbc } }
static char seed[16];
"""
    + own_codes.TA_ENTRIES
    + """TEE_Result TA_InvokeCommandEntryPoint(void *session, uint32_t command, uint32_t types, TEE_Param params[4])
{
	static const TEE_UUID other = OTHER, system = SYSTEM;
	const uint32_t value = TEE_PARAM_TYPES(TEE_PARAM_TYPE_VALUE_INOUT, 0, 0, 0);
	const uint32_t memory = TEE_PARAM_TYPES(TEE_PARAM_TYPE_MEMREF_INPUT, 0, 0, 0);
	TEE_Param of_other[4] = { { .value = { 1, 0 } } };
	TEE_Param of_system[4] = { { .memref = { seed, sizeof(seed) } } };
	TEE_TASessionHandle one, two;
	uint32_t origin;
	TEE_Result found;

	(void)session; (void)types;
	found = TEE_OpenTASession(&other, TEE_TIMEOUT_INFINITE, 0, NULL, &one, &origin);
	if (found)
		return found;
	found = TEE_OpenTASession(&system, TEE_TIMEOUT_INFINITE, 0, NULL, &two, &origin);
	if (found)
		return found;
	for (uint32_t i = 0; i < 2 && !found; i++)
		found = TEE_InvokeTACommand(one, TEE_TIMEOUT_INFINITE, 2 + 3 * (command == 7), value, of_other, &origin);
	if (!found)
		found = TEE_InvokeTACommand(two, TEE_TIMEOUT_INFINITE, 0, memory, of_system, &origin);
	TEE_CloseTASession(two);
	TEE_CloseTASession(one);
	params[0].value.a = of_other[0].value.a;
	return found;
}
"""
)
ANSWERS = (
    """
#include <tee_internal_api.h>
"""
    + own_codes.TA_ENTRIES
    + """__attribute__((noinline)) static uint32_t answer(uint32_t turns)
{
	volatile char room[1800];
	uint32_t left = turns * 1000;
	room[0] = (char)turns;
	__asm__ volatile("1: subs %w0, %w0, #1\\n\\tb.ne 1b" : "+r"(left) : : "cc");
	return turns + (room[0] != (char)turns);
}
TEE_Result TA_InvokeCommandEntryPoint(void *session, uint32_t command, uint32_t types, TEE_Param params[4])
{
	(void)session; (void)types;
	params[0].value.a += answer(command);
	return TEE_SUCCESS;
}
"""
)


def test_a_ta_that_calls_others(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Another user's TA and one of OP-TEE's own: the commands of the first differ by what its functions differ by."""
    folders = own_codes.application(tmp_path / "one", ta__own_ta_dot_c=CALLS)
    other, _ = own_codes.application(
        tmp_path / "two",
        ta__own_ta_dot_c=ANSWERS,
        ta__own_dot_h=OTHER_HEADER,
        ta__Makefile=own_codes.APPLICATION["ta/Makefile"].replace(own_codes.UUID, OTHER),
    )
    emulator = Emulator(lab, note)
    found = application(*folders, 0, images, [other.rename(tmp_path / "other")])
    ready = prepare(Wanted(Path(found.name), lives=2, application=found), images, emulator, note)
    manifest, trace = ready.code.manifest, ready.counted.trace
    of_ta = {name: region for name, region in manifest.regions.items() if region.target}
    assert {name: region.calls for name, region in of_ta.items()} == {
        f"TEE_OpenTASession.{OTHER}": 6,
        # libutee asks that TA too, which maps memory for what a call passes on, and keeps the session of each TA.
        "TEE_OpenTASession.system": 8,
        f"TEE_InvokeTACommand.{OTHER}.2": 8,
        f"TEE_InvokeTACommand.{OTHER}.5": 4,
        "TEE_InvokeTACommand.system.0": 6,
        "TEE_InvokeTACommand.system.2": 6,
        "TEE_InvokeTACommand.system.3": 6,
        f"TEE_CloseTASession.{OTHER}": 6,
        "TEE_CloseTASession.system": 6,
    }
    counts = {
        name: [one.instructions for one in calls_of(trace, manifest.addresses, region)[0]]
        for name, region in of_ta.items()
    }
    # Two instructions a turn, three thousand turns more: of the last two of each, when nothing is new any more.
    two, five = (counts[f"TEE_InvokeTACommand.{OTHER}.{command}"][-2:] for command in (2, 5))
    assert [more - less for less, more in zip(two, five, strict=True)] == [6000, 6000]
    calls, _ = calls_of(trace, manifest.addresses, manifest.regions["TEEC_InvokeCommand.7"])
    assert all(one.instructions > sum(counts[f"TEE_InvokeTACommand.{OTHER}.5"][:2]) for one in calls)
    # Its stack is its own alone, and no part of the TA that the client calls.
    assert 1000 < max(one.ta_stack or 0 for one in calls) < 1800
    # What the other TA executes has its own names, though both lie at the same addresses.
    own_code.add(ready.code)
    try:
        explainer = explained(ready, f"TEE_InvokeTACommand.{OTHER}.5", images, emulator, tmp_path)
        explainer.check()
        explanation = explainer.explain(explainer.sample(REGION_MEASURE, REGION_PLACE))
    finally:
        own_code.remove(ready.code.name)
    found_answer = explanation.functions["answer", f"ta-{OTHER}"].self
    assert 10_000 < found_answer < 10_030
    assert explanation.layers[f"ta-{OTHER}"].self > found_answer
