/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records over a board's serial line, in the place of semihosting: each is a line of its own, with its number and a sum, so
 * that the host sees what was lost, doubled or changed on the way.
 *
 *     ~NUMBER SUM RECORD
 *
 * NUMBER counts from 0; SUM is the CRC-32 (ISO-HDLC, as in zlib) of `NUMBER RECORD`; both have eight hexadecimal digits.
 * The debugger has switched the line on. The program is linked with --wrap=semihost_record: see targets/board.py.
 */
#include <stddef.h>
#include <stdint.h>

#if !defined(SERIAL_STATUS) || !defined(SERIAL_MASK) || !defined(SERIAL_READY) || !defined(SERIAL_DATA)
#error "SERIAL_STATUS and the like say where the line's registers are: see [serial] of boards/"
#endif /* SERIAL_STATUS ... */

#define STATUS (*(volatile const uint32_t *)SERIAL_STATUS)
#define DATA (*(volatile uint32_t *)SERIAL_DATA)
#define CRC_POLYNOMIAL 0xEDB88320u

int __wrap_semihost_record(const char *line, size_t length);

/* How many records were sent. The host reads it by the debugger. */
volatile uint32_t serial_sent;

static void put(char c)
{
	while ((STATUS & SERIAL_MASK) != SERIAL_READY)
		;
	DATA = (uint8_t)c;
}

static void hex_of(uint32_t value, char *digits)
{
	for (int i = 0; i < 8; i++)
		digits[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15u];
}

static uint32_t summed(uint32_t sum, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		sum ^= (uint8_t)bytes[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1u ? CRC_POLYNOMIAL : 0);
	}
	return sum;
}

static void put_all(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		put(bytes[i]);
}

/* A record_sink; the line ends with a newline, which is not in the sum. */
int __wrap_semihost_record(const char *line, size_t length)
{
	char number[9];
	char sum[9];

	hex_of(serial_sent, number);
	number[8] = ' ';
	hex_of(~summed(summed(UINT32_MAX, number, sizeof(number)), line, length - 1), sum);
	sum[8] = ' ';
	put('~');
	put_all(number, sizeof(number));
	put_all(sum, sizeof(sum));
	put_all(line, length);
	serial_sent++;
	return 0;
}
