/* SPDX-License-Identifier: BSD-2-Clause */
/* mbed TLS's configuration for p256-m alone: nothing of the library but the driver's code. */
#define MBEDTLS_PSA_P256M_DRIVER_ENABLED
