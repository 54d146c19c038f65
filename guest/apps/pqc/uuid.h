/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's name, for what is compiled without a scheme too. */
#ifndef WORLDWISE_APPS_PQC_UUID_H
#define WORLDWISE_APPS_PQC_UUID_H

#define PQC_TA_UUID { 0xa1f5c2de, 0x000b, 0x4b1c, { 0x9a, 0x3e, 0x70, 0x71, 0x63, 0x00, 0x00, 0x00 } }

#endif /* WORLDWISE_APPS_PQC_UUID_H */
