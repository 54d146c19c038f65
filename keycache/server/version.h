/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCACHE_VERSION_H
#define KEYCACHE_VERSION_H

#define KEYCACHE_VERSION "0.2.0"

#endif /* KEYCACHE_VERSION_H */
