/* SPDX-License-Identifier: BSD-2-Clause */
/* Sources: Armv7-M Architecture Reference Manual, C1.8 (DWT), C1.6.5 (DEMCR), B3.3 (SysTick). */
#include "cycles.h"

#include <stdbool.h>

#include "../operations/frame.h"
#include "core.h"

#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_BITS 0x00FFFFFFu
#define DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)
#define DWT_CTRL (*(volatile uint32_t *)0xE0001000u)
#define DWT_CTRL_CYCCNTENA 1u
#define DWT_CTRL_NOCYCCNT (1u << 25)
#define DWT_CYCCNT (*(volatile uint32_t *)0xE0001004u)
#define DWT_LAR (*(volatile uint32_t *)0xE0001FB0u)
#define DWT_UNLOCK 0xC5ACCE55u

static const volatile uint32_t none;
const volatile uint32_t *cycles_source = &none;

static bool start_dwt(void)
{
#if CORE_HAS_MAINLINE
	uint32_t before;

	/* The bit does not stay set where there is no DWT, whose registers must not be read then. */
	DEMCR |= DEMCR_TRCENA;
	if (!(DEMCR & DEMCR_TRCENA))
		return false;
	/* A Cortex-M7 locks its DWT at reset. */
	DWT_LAR = DWT_UNLOCK;
	if (DWT_CTRL & DWT_CTRL_NOCYCCNT)
		return false;
	DWT_CYCCNT = 0;
	DWT_CTRL |= DWT_CTRL_CYCCNTENA;
	before = DWT_CYCCNT;
	return DWT_CYCCNT != before;
#else
	/* Its DWT has no cycle counter. */
	return false;
#endif /* CORE_HAS_MAINLINE */
}

int cycles_counted(void)
{
	return cycles_source != &none;
}

const char *cycles_counter(void)
{
	/* Of a SysTick that is not there the register reads as zero. */
	SYST_RVR = SYST_BITS;
	if (SYST_RVR != SYST_BITS)
		frame_fail("this core has no SysTick, by which its cycles are counted", 0);
	if (!start_dwt())
		return "systick";
	cycles_source = &DWT_CYCCNT;
	return "dwt_cyccnt";
}
