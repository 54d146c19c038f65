/* SPDX-License-Identifier: BSD-2-Clause */
/* test-ta [WORD]: runs the tests whose name has the word in it, or all. Each begins with an empty storage. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char place[] = "/tmp/keycache-test-XXXXXX";
static char storage[sizeof(place) + 16];

const char *folder(void)
{
	return storage;
}

int main(int argc, char **argv)
{
#define TEST(name)                                                                                                     \
	{                                                                                                              \
		#name, test_##name                                                                                     \
	}
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		TEST(siphash),
		TEST(gcm),
		TEST(wrong_calls),
		TEST(random_calls),
		TEST(get),
		TEST(messages),
		TEST(message_changes),
		TEST(aad),
		TEST(nonces),
		TEST(worn_keys),
		TEST(seal_key_is_replaced),
		TEST(reencrypt),
		TEST(fan_out),
		TEST(records),
		TEST(record_changes),
		TEST(policies),
		TEST(lru_model),
		TEST(wiping),
		TEST(bounds),
		TEST(restart),
		TEST(small_index),
		TEST(full_bucket),
		TEST(last_version),
		TEST(list),
		TEST(configure),
		TEST(configure_fails),
		TEST(owner),
		TEST(owner_comes_later),
		TEST(relaxed),
		TEST(relaxed_versions),
		TEST(model),
		TEST(failed_writes),
		TEST(failed_reads),
		TEST(full_storage),
		TEST(full_storage_relaxed),
		TEST(flush_goes_on),
		TEST(power_cuts),
		TEST(power_cuts_within_rights),
		TEST(rollback),
		TEST(damage),
		TEST(bad_buckets),
		TEST(naive),
		TEST(curve),
		TEST(restrictions),
		TEST(no_way_down),
		TEST(named),
		TEST(previous_keys),
		TEST(generate),
		TEST(trust),
		TEST(enrolment),
		TEST(enrolment_changes),
		TEST(serials),
		TEST(enrolment_over_a_waiting_key),
		TEST(compromised_normal_world),
		TEST(handover),
		TEST(backup),
		TEST(format_1),
		TEST(stats),
	};
	unsigned int i;
	unsigned int before;

	if (!mkdtemp(place))
		return 2;
	(void)snprintf(storage, sizeof(storage), "%s/storage", place);
	(void)bytes_for(1);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (argc > 1 && !strstr(tests[i].name, argv[1]))
			continue;
		before = failures();
		tests[i].run();
		shim_stop();
		shim_fail(0, 0, false);
		shim_fail_read(0, 0);
		shim_storage_limit(0);
		shim_memory_limit(0);
		remove_storage(storage);
		printf("%s %s\n", failures() == before ? "ok  " : "FAIL", tests[i].name);
	}
	(void)rmdir(place);
	return failures() != 0;
}
