/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Begins a program on QEMU's machine "virt" with nothing beneath it: no kernel whose work would be in a region, and no
 * interrupt. One table maps the first GiB of RAM onto itself, since only mapped memory may be read unaligned and cached.
 */
	.global	_start
	.text
_start:
	mov	x0, #(3 << 20)		/* CPACR_EL1.FPEN: SIMD and floating point */
	msr	cpacr_el1, x0
	adrp	x0, vectors
	add	x0, x0, :lo12:vectors
	msr	vbar_el1, x0
	mov	x0, #0xff		/* attribute 0: normal memory, write-back */
	msr	mair_el1, x0
	ldr	x0, =0x803519		/* TCR_EL1: 39 bits of address, pages of 4 KiB, no second table */
	msr	tcr_el1, x0
	adrp	x0, table
	add	x0, x0, :lo12:table
	msr	ttbr0_el1, x0
	isb
	mrs	x0, sctlr_el1
	mov	x1, #0x1005		/* SCTLR_EL1: MMU and caches on */
	orr	x0, x0, x1
	mov	x1, #0xa		/* and no checks of alignment */
	bic	x0, x0, x1
	msr	sctlr_el1, x0
	isb
	adrp	x0, stack_end
	add	x0, x0, :lo12:stack_end
	mov	sp, x0
	mov	x29, #0
	mov	x30, #0
	bl	cells_main
	b	.

	/* Any exception is an error of the program: the exit status says so. */
	.balign	2048
vectors:
	.rept	16
	.balign	128
	adrp	x0, stack_end
	add	x0, x0, :lo12:stack_end
	mov	sp, x0
	mov	w0, #99
	b	semihost_exit
	.endr

	.section .rodata
	.balign	4096
table:
	.quad	0
	.quad	0x40000000 | (1 << 10) | (3 << 8) | 1
	.fill	510, 8, 0

	.bss
	.balign	16
	.skip	1 << 20
stack_end:
