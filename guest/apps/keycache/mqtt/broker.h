/* SPDX-License-Identifier: BSD-2-Clause */
/* The stock broker in the measured machine, with the key cache's plugin or without. */
#ifndef WORLDWISE_APPS_KEYCACHE_MQTT_BROKER_H
#define WORLDWISE_APPS_KEYCACHE_MQTT_BROKER_H

#include <stdbool.h>

#define BROKER_PORT 8883

/* Starts it and returns once it listens. The certificates of server.h are there, and so is the key cache's server, if the broker uses it. */
void broker_start(bool plugin);

/* Ends it by SIGTERM and waits; its exit status must be 0. */
void broker_stop(void);

#endif /* WORLDWISE_APPS_KEYCACHE_MQTT_BROKER_H */
