/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of microcontrollers: one engine for Cortex-M, in order, of one or two instructions a cycle. */
#ifndef WORLDWISE_MODEL_MCU_H
#define WORLDWISE_MODEL_MCU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

struct mcu;
struct mcu_code;

struct mcu *mcu_new(void);

/* One line of a core's table behind `core` and `kind`. False if it says nothing that this kind of core has. */
bool mcu_read_line(struct mcu *mcu, const char *line);

/* Behind the last line. False if the engine cannot do without what the table lacks; the reason goes to stderr. */
bool mcu_complete(struct mcu *mcu);

/* As code_decode, for T32. */
struct mcu_code *mcu_decode(uint64_t pc, const uint8_t *bytes, uint32_t instructions);

/* As model_run and model_forget. */
void mcu_run(struct mcu *mcu, const struct mcu_code *code, uint32_t instructions, const struct access *accesses,
	     size_t count, uint64_t next, struct spent *spent);
void mcu_forget(struct mcu *mcu);

#endif /* WORLDWISE_MODEL_MCU_H */
